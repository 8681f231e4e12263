/* A text editor with colours. CodeMirror is loaded when one is first needed; it lives in a shadow root, where it can add
 * its styles without <style> elements, which the page's Content-Security-Policy forbids. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Waiting } from "./ui.jsx";

/* `language`: "json" or "sql"; `names()` gives what can be completed; onRun is called by Ctrl+Enter. `value` is what the editor begins
 * with; the caller replaces what is in it by another `value` together with another `epoch`. */
export function Editor({ label, language, value, epoch = 0, onInput, onRun, minHeight = 120, maxHeight = 520, names = null }) {
  const host = useRef();
  const view = useRef(null);
  const newest = useRef();
  newest.current = { value, onInput, onRun, names };
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    let isGone = false;
    import("./codemirror.js").then(({ createEditor }) => {
      if (isGone) {
        return;
      }
      const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
      view.current = createEditor({
        root, language, label, minHeight, maxHeight, value: newest.current.value,
        onInput: (text) => newest.current.onInput(text),
        onRun: () => newest.current.onRun?.(),
        names: () => newest.current.names?.() ?? [],
      });
      setReady(true);
    });
    return () => {
      isGone = true;
      view.current?.destroy();
    };
  }, []);
  useEffect(() => {
    if (isReady) {
      view.current.dispatch({ changes: { from: 0, to: view.current.state.doc.length, insert: value } });
    }
  }, [epoch]);
  return <div class="editor"><div ref={host} style={{ minHeight }} />{!isReady && <Waiting />}</div>;
}
