/* The page at /: all applications. */
import { render } from "preact";
import { APPS, Icon, Shell } from "./ui.jsx";
import "./look.css";

render(
  <Shell title="Applications" lead="Five reference applications on one DynamoDB.">
    <div class="grid">
      {APPS.map(([name, title, summary, icon]) => (
        <a key={name} class="card app" href={`/${name}/`}>
          <Icon path={icon} />
          <div>
            <h2>{title}</h2>
            <p class="muted">{summary}</p>
          </div>
        </a>
      ))}
    </div>
  </Shell>,
  document.body,
);
