/* The page at /: all applications. */
import { render } from "preact";
import { APPS, Shell } from "./ui.jsx";
import "./look.css";

render(
  <Shell title="Applications" lead="Five reference applications on one DynamoDB.">
    <div class="grid">
      {APPS.map(([name, title, summary]) => (
        <a key={name} class="card app" href={`/${name}/`}>
          <h2>{title}</h2>
          <p class="muted">{summary}</p>
        </a>
      ))}
    </div>
  </Shell>,
  document.body,
);
