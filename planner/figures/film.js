// A run as a film: draws what planner/figures/film.py tells, and works nothing out. Names are set as text, never as markup.
function film(root, told) {
  const SVG = 'http://www.w3.org/2000/svg';
  const READY = 0, STARTING = 1, ENDING = 2, WAITING = 3;
  const ROW = 26, HEAD = 20, LINE = 30, INK = '#10161D', BAD = '#D55E00';
  const uid = 'f' + Math.random().toString(36).slice(2, 8);

  function draw(into, name, more, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(more || {})) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    into.append(made);
    return made;
  }
  function patterns(svg) {
    const defs = draw(svg, 'defs');
    const hatch = draw(defs, 'pattern', {id: uid + svg.dataset.at, width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'});
    draw(hatch, 'rect', {width: 3, height: 6, fill: INK, 'fill-opacity': .55});
    const arrow = draw(defs, 'marker', {id: uid + 'a' + svg.dataset.at, viewBox: '0 0 10 10', refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: 'auto'});
    draw(arrow, 'path', {d: 'M0 0L10 5L0 10z', fill: BAD});
  }
  // One pod: its workload's colour and letter; new ones are round, framed and have a stroke after the letter; those that aren't Ready
  // are pale and dashed, those that end are hatched.
  function block(svg, x, y, width, height, colour, letter, isNew, doing, title) {
    const some = draw(svg, 'g');
    const shape = {x: x + 1.5, y: y + 1.5, width: Math.max(2, width - 3), height: height - 3, rx: isNew ? 8 : 1};
    const pale = doing === STARTING || doing === WAITING;
    draw(some, 'rect', {...shape, fill: colour, 'fill-opacity': pale ? .3 : 1,
      stroke: pale ? colour : isNew ? INK : 'none', 'stroke-width': pale ? 2 : 2.2, 'stroke-dasharray': pale ? '4 3' : 'none'});
    if (isNew && !pale) draw(some, 'rect', {x: shape.x + 2.6, y: shape.y + 2.6, width: Math.max(1, shape.width - 5.2), height: shape.height - 5.2, rx: 6, fill: 'none', stroke: '#FFFFFF', 'stroke-width': 1.4});
    if (doing === ENDING) draw(some, 'rect', {...shape, fill: `url(#${uid}${svg.dataset.at})`});
    if (width > 13) {
      const label = letter + (isNew ? '′' : '');
      if (doing === ENDING) draw(some, 'rect', {x: x + width / 2 - 9, y: y + 5, width: 18, height: height - 10, rx: 3, fill: colour});
      draw(some, 'text', {x: x + width / 2, y: y + height / 2 + 4.3, 'text-anchor': 'middle', class: pale ? 'pale' : 'on'}, label);
    }
    if (title) draw(some, 'title', {}, title);
    return some;
  }

  const still = matchMedia('(prefers-reduced-motion: reduce)');
  const play = make('button', {type: 'button'}, 'Play');
  const back = make('button', {type: 'button', 'aria-label': 'One step back'}, '‹');
  const on = make('button', {type: 'button', 'aria-label': 'One step on'}, '›');
  const last = told.frames.length - 1;
  const slider = make('input', {type: 'range', min: 0, max: last, step: 1, 'aria-label': 'Step of the film'});
  const now = make('p', {class: 'now', role: 'status', 'aria-live': 'polite'});
  const box = make('div', {class: 'film'},
    make('div', {class: 'controls', role: 'group', 'aria-label': 'Film'}, play, back, on, slider), now);
  const picture = document.createElementNS(SVG, 'svg'), lines = document.createElementNS(SVG, 'svg');
  picture.setAttribute('role', 'img');
  picture.dataset.at = 'p';
  lines.setAttribute('aria-hidden', 'true');
  const stuck = make('div', {class: 'stuck'}, make('b', {}, told.stuck || ''));
  if (told.cycle.length) stuck.append(make('ol', {}, ...told.cycle.map((edge) => make('li', {}, edge))));
  box.append(make('figure', {}, picture, lines, stuck, told.more ? make('p', {class: 'aside'}, told.more) : null));
  const legend = make('ul', {class: 'legend', 'aria-label': 'What the blocks mean'});
  function entry(colour, letter, isNew, doing, words) {
    const mark = document.createElementNS(SVG, 'svg');
    mark.dataset.at = 'l' + legend.children.length;
    mark.setAttribute('aria-hidden', 'true');
    mark.setAttribute('viewBox', '0 0 26 18');
    patterns(mark);
    block(mark, 0, 0, 26, 18, colour, letter, isNew, doing, '');
    legend.append(make('li', {}, mark, make('span', {}, words)));
  }
  for (const one of told.holders) entry(one.colour, one.letter, false, READY, one.name);
  if (told.holders.length) {
    const first = told.holders[0];
    entry(first.colour, first.letter, true, READY, told.newly);
    entry(first.colour, first.letter, false, STARTING, 'not Ready, or waiting');
    entry(first.colour, first.letter, false, ENDING, 'terminating');
  }
  const rows = told.frames.map((frame, place) => make('tr', {}, ...[String(place), frame.after, frame.event, frame.said].map((text) => make('td', {}, text))));
  const table = make('table', {}, make('thead', {}, make('tr', {}, ...['step', 'after', 'what happens', 'then'].map((text) => make('th', {scope: 'col'}, text)))), make('tbody', {}, ...rows));
  box.append(legend, make('details', {}, make('summary', {}, 'Every step as a table'), make('div', {class: 'table', tabindex: 0, role: 'group', 'aria-label': 'Every step'}, table)));

  function rowsOf(wide) {  // where each row is: pools have a line of their own
    let y = told.lane ? HEAD + ROW + 6 : 2, pool = null;
    const places = [];
    for (const row of told.rows) {
      if (row.pool !== pool) { pool = row.pool; places.push({y, pool}); y += HEAD; }
      if (!wide) y += 15;
      places.push({y, row});
      y += ROW;
    }
    return {places, height: y + 4};
  }
  function paint() {
    const one = told, stop = Number(slider.value), frame = told.frames[stop];
    const width = Math.max(240, picture.getBoundingClientRect().width || 600), wide = width >= 400;
    const left = wide ? Math.min(270, Math.max(...one.rows.map((row) => row.name.length * 6.6 + 14), 70)) : 0;
    const seat = Math.min(46, (width - left - 4) / Math.max(1, one.seats));
    const {places, height} = rowsOf(wide), tops = places.filter((place) => place.row).map((place) => place.y);
    picture.replaceChildren();
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.setAttribute('height', height);
    picture.setAttribute('aria-label', `${one.title}, ${frame.after}: ${frame.event}. ${frame.said}`);
    patterns(picture);
    for (const place of places) {
      if (place.pool !== undefined) { draw(picture, 'text', {x: 0, y: place.y + 14, class: 'pool'}, place.pool); continue; }
      draw(picture, 'text', {x: 0, y: place.y + (wide ? 17 : -3)}, place.row.name);
      if (place.row.seats <= 64)
        for (let i = 0; i < place.row.seats; i++) draw(picture, 'rect', {x: left + i * seat + 1, y: place.y + 1, width: Math.max(1, seat - 2), height: ROW - 2, fill: 'none', stroke: 'var(--edge)', 'stroke-opacity': .7});
      else draw(picture, 'rect', {x: left, y: place.y + 1, width: place.row.seats * seat, height: ROW - 2, fill: 'var(--empty)'});
    }
    const ends = {};
    const inLane = [];
    for (const [holder, isNew, doing, row, spans, first, until, pod, amount] of one.blocks) {
      if (stop < first || stop > until) continue;
      const {colour, letter} = told.holders[holder], words = `${pod}, ${told.doing[doing]}`;
      if (row === -1) inLane.push({holder, colour, letter, isNew, doing, amount, words});
      else if (row >= 0) {
        for (const [from, to] of spans) block(picture, left + from * seat, tops[row], (to - from) * seat, ROW, colour, letter, isNew, doing, words);
        if (!isNew && holder === 0 && spans.length && !(ends.old && ends.old[1] <= tops[row])) ends.old = [left + (spans[0][0] + spans[0][1]) / 2 * seat, tops[row]];
      }
    }
    let lane = left, beyond = 0;
    for (const each of inLane.sort((a, b) => a.holder - b.holder)) {
      const long = Math.max(16, Math.min(each.amount, 8) * seat);
      if (beyond || lane + long > width - 44) { beyond += 1; continue; }
      block(picture, lane, HEAD, long, ROW, each.colour, each.letter, each.isNew, each.doing, each.words);
      if (each.isNew && each.holder === 0 && !ends.waits) ends.waits = [lane + long / 2, HEAD + ROW];
      lane += long + 3;
    }
    if (one.lane) {
      const others = inLane.filter((each) => each.holder >= one.about).length;
      draw(picture, 'text', {x: 0, y: 14, class: 'pool'}, `${told.waiting}: ${frame.waiting || 'none'}${others ? `, and ${others} of others` : ''}`);
      if (beyond) draw(picture, 'text', {x: lane + 4, y: HEAD + 17}, `+${beyond}`);
    }
    const frozen = stop === one.frames.length - 1 && Boolean(one.stuck);
    stuck.hidden = !frozen;
    if (frozen && one.is_cycle && ends.waits && ends.old) {
      const [x0, y0] = ends.waits, [x1, y1] = ends.old, tip = `url(#${uid}a${picture.dataset.at})`;
      const reach = Math.min(width - 8, Math.max(x0, x1) + Math.max(60, seat * 2.6));
      draw(picture, 'path', {d: `M${x0 - 8} ${y0}C${x0 - 8} ${(y0 + y1) / 2} ${x1 - 22} ${(y0 + y1) / 2} ${x1 - 22} ${y1 + 4}`, fill: 'none', stroke: BAD, 'stroke-width': 2.6, 'marker-end': tip});
      draw(picture, 'path', {d: `M${x1 + 20} ${y1 + 4}C${reach} ${y1 - 8} ${reach} ${y0 + 12} ${x0 + 10} ${y0}`, fill: 'none', stroke: BAD, 'stroke-width': 2.6, 'stroke-dasharray': '6 4', 'marker-end': tip});
      if (width - reach > 330) draw(picture, 'text', {x: reach + 4, y: (y0 + y1) / 2 + 5, class: 'why'}, 'needs what the old pods hold; they are kept until it is Ready');
      else if (width - reach > 150) draw(picture, 'text', {x: reach + 4, y: (y0 + y1) / 2 + 5, class: 'why'}, 'kept until it is Ready');
    }
    // Ready and seats held, over the same stops as the slider
    const marks = one.tracks, tall = marks.length * (LINE + 22) + 4, far = width - 9, step = last ? (far - 9) / last : 0;
    lines.replaceChildren();
    lines.setAttribute('viewBox', `0 0 ${width} ${tall}`);
    lines.setAttribute('height', tall);
    marks.forEach((track, i) => {
      const top = i * (LINE + 22) + 18, most = Math.max(1, track.most);
      const y = (value) => top + LINE - value / most * LINE;
      if (track.budget !== undefined && track.budget !== null) {
        const at = y(track.budget);
        draw(lines, 'line', {x1: 9, x2: far, y1: at, y2: at, stroke: BAD, 'stroke-width': 2, 'stroke-dasharray': '6 4', class: 'budget'});
        draw(lines, 'text', {x: far, y: top - 5, 'text-anchor': 'end'}, `red line: the budget of ${track.budget}`);
      }
      draw(lines, 'text', {x: 0, y: top - 5}, `${track.name}: ${track.values[stop]} of ${track.most}`);
      draw(lines, 'line', {x1: 9, x2: far, y1: top + LINE, y2: top + LINE, stroke: 'var(--edge)'});
      let path = '';
      track.values.forEach((number, place) => {
        const value = y(number), x = 9 + place * step;
        path += place ? `H${x}V${value}` : `M${x} ${value}`;
      });
      draw(lines, 'path', {d: path, fill: 'none', stroke: track.colour, 'stroke-width': 2.6, 'stroke-dasharray': track.dash});
      const x = 9 + Number(slider.value) * step;
      draw(lines, 'line', {x1: x, x2: x, y1: top - 2, y2: top + LINE, stroke: 'var(--ink)', 'stroke-width': 1.5});
      draw(lines, 'circle', {cx: x, cy: y(track.values[stop]), r: 4.5, fill: track.colour, stroke: 'var(--ink)'});
    });
  }
  function show() {
    const frame = told.frames[Number(slider.value)], over = Number(slider.value) === last;
    const said = `${frame.after}: ${frame.event}${over && told.over ? ' · ' + told.over : ''}`;
    now.replaceChildren(make('b', {}, `Step ${slider.value} of ${last}`), ` · ${said}`);
    slider.setAttribute('aria-valuetext', `Step ${slider.value} of ${last}: ${said}`);
    paint();
  }
  let ticking = null;
  function halt() {
    clearInterval(ticking);
    ticking = null;
    play.textContent = 'Play';
    now.setAttribute('aria-live', 'polite');
  }
  function go(to) { slider.value = Math.max(0, Math.min(last, to)); show(); }
  const begin = () => {
    if (ticking !== null) { halt(); return; }
    if (Number(slider.value) === last) go(0);
    play.textContent = 'Pause';
    now.setAttribute('aria-live', 'off');
    ticking = setInterval(() => { if (Number(slider.value) >= last) halt(); else go(Number(slider.value) + 1); }, Math.max(150, Math.min(900, 15000 / Math.max(1, last))));
  };
  play.addEventListener('click', begin);
  back.addEventListener('click', () => { halt(); go(Number(slider.value) - 1); });
  on.addEventListener('click', () => { halt(); go(Number(slider.value) + 1); });
  slider.addEventListener('input', () => { halt(); show(); });
  const calm = () => { play.hidden = still.matches || last === 0; if (still.matches) halt(); };
  still.addEventListener('change', calm);
  calm();
  slider.value = told.start;
  root.replaceChildren(box);
  show();
  if (told.plays && last && !still.matches) begin();
  let seen = 0;
  const size = new ResizeObserver((entries) => { const width = entries[0].contentRect.width; if (Math.abs(width - seen) > 1) { seen = width; show(); } });
  size.observe(box);
  return () => { halt(); size.disconnect(); still.removeEventListener('change', calm); };
}
