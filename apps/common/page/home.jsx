/* The page at /: all applications. */
import { startPage } from "./session.jsx";
import { APPS, Icon, Shell } from "./ui.jsx";
import "./look.css";

const Frame = ({ children }) => (
  <Shell title="Applications" lead="Five reference applications on one DynamoDB.">{children}</Shell>
);

function Home() {
  return (
    <Frame>
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
    </Frame>
  );
}

startPage(Home, Frame);
