/* The description of a ticket is one text; its first line is the title. */
const TITLE_MAX = 120;

export function splitText(description) {
  const [line, ...rest] = description.trim().split("\n");
  if (line.length <= TITLE_MAX) {
    return { title: line, details: rest.join("\n").trim() };
  }
  const cut = line.lastIndexOf(" ", TITLE_MAX);
  const title = `${line.slice(0, cut > TITLE_MAX / 2 ? cut : TITLE_MAX)}…`;
  return { title, details: description.trim() };
}

export const joinText = (title, details) =>
  details.trim() === "" ? title.trim() : `${title.trim()}\n\n${details.trim()}`;
