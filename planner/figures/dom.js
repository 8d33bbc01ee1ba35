// An element with these attributes and what stands in it. Names are set as text, never as markup.
function make(name, more, ...inside) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(more || {})) if (value !== null) made.setAttribute(key, value);
  made.append(...inside.filter((part) => part !== null));
  return made;
}
