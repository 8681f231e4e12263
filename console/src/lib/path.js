/* Paths of attributes as they are typed: name, address.city[0]; a name with dots or brackets in it stands in quotes: "user.id".city */

const STEP = /\.?(?:"((?:[^"]|"")+)"(?=[.[]|$)|([^.["][^.[]*))|\[(\d+)\]/y;

/* The steps of a path: names, and positions in lists as numbers. A text that is no path is the name of an attribute. */
export function pathSteps(text) {
  const steps = [];
  STEP.lastIndex = 0;
  for (let found; STEP.lastIndex < text.length;) {
    const isFirst = STEP.lastIndex === 0;
    found = STEP.exec(text);
    if (found === null || isFirst === /^[.[]/.test(found[0])) {
      return [text];
    }
    const [, quoted, plain, position] = found;
    steps.push(position === undefined ? plain ?? quoted.replaceAll('""', '"') : Number(position));
  }
  return steps;
}

/* The path of an attribute of the item itself. */
export const pathOf = (name) => (/[.[",]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);

/* Paths from a list with commas. */
export const pathsOf = (text) => (text.match(/(?:"[^"]*"|[^,])+/g) ?? []).map((path) => path.trim()).filter(Boolean);

/* A path in an expression or statement; `nameText` gives the text of a name. */
export const pathText = (steps, nameText) => steps.map((step, i) => (typeof step === "number" ? `[${step}]` : `${i > 0 ? "." : ""}${nameText(step)}`)).join("");
