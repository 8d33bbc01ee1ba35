// Every maxSurge × maxUnavailable as the control that chooses one: a slider on each edge, a click on a cell, or the arrow keys on the
// chosen one. Draws what planner/figures/strategy_grid.py tells, and works nothing out. Names are set as text, never as markup.
function strategyGrid(root, told, choose) {
  const same = JSON.stringify([told.rows, told.columns, told.recreate]);
  if (root.grid?.same === same) { root.grid.take(told.chosen, choose); return; }
  let now = told.chosen, send = choose, waiting = null;
  const cells = [];
  const range = (label, most) => make('input', {type: 'range', min: 0, max: most, step: 1, 'aria-label': label});
  const surge = range('maxSurge', told.surges.length - 1), missing = range('maxUnavailable', told.columns.length - 1);
  surge.className = 'up';
  const box = make('div', {class: 'strategies', role: 'group', 'aria-label': told.alt});
  box.style.gridTemplateColumns = `24px max-content repeat(${told.columns.length}, minmax(0, 1fr))`;
  const put = (part, row, column, more = '') => { part.style.gridArea = `${row} / ${column}${more}`; box.append(part); return part; };
  put(make('span', {class: 'edge'}, 'maxSurge'), 2, 1, ' / auto / span 2');
  put(make('label', {class: 'edge'}, 'maxUnavailable ', missing), 1, 3, ' / auto / -1');
  told.columns.forEach((number, at) => put(make('span', {class: 'head'}, String(number)), 2, at + 3));
  put(surge, 3, 1, ` / span ${told.rows.length}`);
  const draw = (cell, pair, row, column, more, text = cell.text) => {
    const part = put(make('button', {type: 'button', tabindex: -1, 'aria-label': cell.words, title: cell.words}, text), row, column, more);
    part.style.setProperty('--back', cell.colour || 'transparent');
    part.style.setProperty('--ink', cell.ink || 'inherit');
    part.classList.toggle('below', Boolean(cell.below));
    part.classList.toggle('today', Boolean(cell.today));
    part.disabled = cell.ready === null;
    const pick = () => take(pair());
    part.addEventListener('click', pick);
    part.addEventListener('pointerenter', (event) => { if (event.buttons === 1) pick(); });
    cells.push({part, cell, is: (chosen) => String(pair(chosen)) === String(chosen)});
  };
  told.rows.forEach((row, at) => {
    put(make('span', {class: 'name'}, row.name), at + 3, 2);
    row.cells.forEach((cell, column) => draw(cell, (chosen = now) => [row.surges.includes(chosen[0]) ? chosen[0] : row.takes, told.columns[column]], at + 3, column + 3, ''));
  });
  put(make('span', {class: 'name'}, 'Recreate'), told.rows.length + 3, 1, ' / auto / span 2');
  draw(told.recreate, () => told.recreate.pair, told.rows.length + 3, 3, ' / auto / -1', told.recreate.long);
  function show() {
    const place = (numbers, number) => Math.max(0, numbers.indexOf(number));
    if (now[0] >= 0) {
      surge.value = place(told.surges, now[0]);
      missing.value = place(told.columns, now[1]);
    }
    let said = '';
    for (const {part, cell, is} of cells) {
      const isChosen = is(now);
      part.setAttribute('aria-pressed', isChosen);
      part.tabIndex = isChosen ? 0 : -1;
      if (isChosen) said = cell.words;
    }
    surge.setAttribute('aria-valuetext', `${told.surges[surge.value]}. ${said}`);
    missing.setAttribute('aria-valuetext', `${told.columns[missing.value]}. ${said}`);
  }
  function take(pair) {
    if (String(pair) === String(now)) return;
    now = pair;
    show();
    clearTimeout(waiting);  // while one drags the answer follows each rest of the hand
    waiting = setTimeout(() => { waiting = null; send(now); }, 150);
  }
  // 0 and 0 is refused by the API server: the other slider gives way.
  const by = (slider, other) => slider.addEventListener('input', () => {
    if (told.surges[surge.value] === 0 && told.columns[missing.value] === 0) other.value = 1;
    take([told.surges[surge.value], told.columns[missing.value]]);
  });
  by(surge, missing);
  by(missing, surge);
  box.addEventListener('keydown', (event) => {
    const way = {ArrowLeft: [missing, -1], ArrowRight: [missing, 1], ArrowUp: [surge, 1], ArrowDown: [surge, -1]}[event.key];
    if (!way || event.target.tagName !== 'BUTTON') return;
    event.preventDefault();
    way[0].value = Number(way[0].value) + way[1];
    way[0].dispatchEvent(new Event('input'));
    cells.find(({is}) => is(now))?.part.focus();
  });
  root.grid = {same, take: (chosen, then) => { send = then; if (waiting === null) { now = chosen; show(); } }};
  root.replaceChildren(box);
  show();
}
