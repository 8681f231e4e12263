/* CodeMirror as the console uses it; a chunk of its own. */
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--c4)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--c3)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--c2)" },
  { tag: tags.propertyName, color: "var(--c1)" },
  { tag: [tags.comment, tags.punctuation], color: "var(--muted)" },
]);

const look = EditorView.theme({
  "&": { backgroundColor: "transparent", color: "var(--text)", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-content": { fontFamily: "var(--mono)", padding: "10px 0", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--muted)", border: "none", fontFamily: "var(--mono)", fontSize: "12px" },
  ".cm-line": { padding: "0 12px 0 8px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft)" },
  ".cm-matchingBracket": { backgroundColor: "var(--sunk)", outline: "1px solid var(--line-strong)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line-strong)", borderRadius: "6px", color: "var(--text)", overflow: "hidden" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--accent)" },
});

/* Of PartiQL what DynamoDB has. */
const partiql = SQLDialect.define({
  keywords: "select from where and or not in between is missing null insert into value update set remove delete returning all old new modified order by asc desc exists",
  builtin: "begins_with contains attribute_type size list_append set_add set_delete",
  types: "", identifierQuotes: '"', doubleQuotedStrings: false,
});

/* Completes what `names()` gives: [{label, type, detail}]. */
function completions(names) {
  return (context) => {
    const word = context.matchBefore(/[\w"#.-]*/);
    return word.from === word.to && !context.explicit ? null : { from: word.from, options: names(), validFor: /^[\w"#.-]*$/ };
  };
}

/* A letter typed over a selection: Chromium would give the new text a style attribute, which the Content-Security-Policy forbids. */
const typeOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== "insertText" || !event.data || view.state.selection.main.empty || view.composing || /[([{'"]/.test(event.data)) {
      return false;
    }
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type" });
    return true;
  },
});

export function createEditor({ root, language, label, minHeight, maxHeight, value, onInput, onRun, names }) {
  const run = { key: "Mod-Enter", run: () => { onRun(); return true; } };
  const state = EditorState.create({
    doc: value,
    extensions: [
      typeOver, lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(),
      language === "json" ? json() : [sql({ dialect: partiql, upperCaseKeywords: true }), partiql.language.data.of({ autocomplete: completions(names) })],
      autocompletion(), syntaxHighlighting(colours), look, EditorView.lineWrapping,
      EditorView.theme({ "&": { maxHeight: `${maxHeight}px` }, ".cm-scroller": { overflow: "auto", minHeight: `${minHeight}px`, lineHeight: "1.55" } }),
      EditorView.contentAttributes.of({ "aria-label": label }),
      keymap.of([run, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...(language === "json" ? [indentWithTab] : [])]),
      EditorView.updateListener.of((update) => update.docChanged && onInput(update.state.doc.toString())),
    ],
  });
  return new EditorView({ state, parent: root, root });
}
