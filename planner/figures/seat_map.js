// The map of seats: draws what planner/figures/seat_map.py tells, and works nothing out. Names are set as text, never as markup.
function seatMap(root, told, act) {
  const colours = Object.fromEntries(told.holders.map(([letter, name, colour]) => [letter, colour]));
  const square = (letter) => make('i', {style: `background:${colours[letter]}`, class: {'–': 'out', '·': 'free'}[letter] || null}, told.named ? letter : '');
  const before = root.getRootNode().activeElement, held = before && before.dataset ? before.dataset.at : undefined;
  const nodes = [];  // in the order of all pools
  const pools = told.pools.map((pool) => make('section', {}, make('h2', {}, pool.name, make('small', {}, pool.note)), make('div', {class: 'nodes'},
    ...pool.nodes.map(([name, short, seats, words]) => {
      const at = nodes.length, lost = Boolean(told.lost) && told.lost.at === at;
      const node = make(name ? 'button' : 'div', {class: lost ? 'node lost' : 'node', 'data-at': at, tabindex: at ? -1 : 0, title: name ? `${name}: ${words}` : words,
        'aria-label': name ? `${name}: ${words}. ${lost ? 'Lost' : 'Lose it'}` : words, 'aria-pressed': name ? lost : null},
        told.named ? make('b', {}, short) : null, make('span', {}, ...Array.from(seats, square)));
      if (name) node.addEventListener('click', () => act('lose', lost ? '' : name));
      nodes.push(node);
      return node;
    }))));
  const seats = make('div', {class: 'seats', role: 'group', 'aria-label': told.alt}, ...pools);
  seats.addEventListener('keydown', (event) => {  // one stop of the Tab key; arrows go from node to node
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key], at = nodes.indexOf(event.target);
    const to = nodes[event.key === 'Home' ? 0 : event.key === 'End' ? nodes.length - 1 : at + step];
    if (at < 0 || !to) return;
    event.preventDefault();
    for (const node of nodes) node.tabIndex = node === to ? 0 : -1;
    to.focus();
  });
  const light = (some) => {
    root.classList.toggle('pointing', some.length > 0);
    for (const [at, node] of nodes.entries()) node.classList.toggle('lit', some.includes(at));
  };
  const outside = (title, say, change, at, squares) => {
    const head = make('button', {class: 'outside', type: 'button'}, make('span', {class: 'waits'}, squares), title);
    for (const [over, out] of [['mouseenter', 'mouseleave'], ['focus', 'blur']]) {
      head.addEventListener(over, () => light(at));
      head.addEventListener(out, () => light([]));
    }
    const suppose = change ? make('button', {class: 'do', type: 'button', 'aria-label': `Suppose it: ${title}`}, 'Suppose it') : null;
    if (suppose) suppose.addEventListener('click', () => act('suppose', change));
    return make('li', {}, head, ...say.map((line) => make('p', {}, line)), suppose);
  };
  const waiting = told.pending.map((one) => outside(one.name, one.say, one.change, one.nodes, ''));
  const lost = told.lost && make('section', {class: 'gone', role: 'status'}, make('h2', {}, `If ${told.lost.name} is lost`), make('ul', {},
    outside(told.lost.pods.map(([name, pods]) => `${name} ×${pods}`).join(', ') || 'nothing stays outside', told.lost.say, told.lost.change, [told.lost.at], '')));
  const aside = make('aside', {}, lost, make('h2', {}, 'Pending'), waiting.length ? make('ul', {}, ...waiting) : make('p', {}, 'No pod is pending.'));
  const legend = make('ul', {class: 'legend', 'aria-label': 'Who holds a seat'}, ...told.holders.map(([letter, name]) =>
    make('li', {}, make('i', {style: `background:${colours[letter]}`, class: {'–': 'out', '·': 'free'}[letter] || null}, letter), name)));
  root.className = told.named ? 'place map named' : 'place map';
  root.replaceChildren(make('div', {class: 'both'}, make('div', {}, seats, legend, make('p', {class: 'note'}, told.note)), aside));
  if (held !== undefined && nodes[held]) nodes[held].focus({preventScroll: true});
}
