CREATE TABLE audit (
  id INTEGER NOT NULL,
  project INTEGER NOT NULL,
  at FLOAT NOT NULL,
  actor VARCHAR NOT NULL,
  action VARCHAR NOT NULL,
  subject VARCHAR NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX audit_project ON audit (project, id);
CREATE TABLE bindings (
  project INTEGER NOT NULL,
  trace_id VARCHAR NOT NULL,
  case_id VARCHAR NOT NULL,
  status VARCHAR,
  wall_seconds FLOAT,
  iterations INTEGER,
  at FLOAT NOT NULL,
  PRIMARY KEY (project, trace_id)
);
CREATE TABLE case_texts (
  project INTEGER NOT NULL,
  digest VARCHAR NOT NULL,
  case_id VARCHAR NOT NULL,
  part VARCHAR NOT NULL,
  PRIMARY KEY (project, digest, case_id, part)
);
CREATE INDEX case_texts_case ON case_texts (project, case_id);
CREATE TABLE cases (
  project INTEGER NOT NULL,
  id VARCHAR NOT NULL,
  at FLOAT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (project, id)
);
CREATE TABLE meta (
  "key" VARCHAR NOT NULL,
  value VARCHAR NOT NULL,
  PRIMARY KEY ("key")
);
CREATE TABLE piece_links (
  project INTEGER NOT NULL,
  link VARCHAR NOT NULL,
  run INTEGER NOT NULL,
  PRIMARY KEY (project, link, run)
);
CREATE INDEX piece_links_run ON piece_links (run);
CREATE TABLE pieces (
  run INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (run)
);
CREATE TABLE policies (
  project INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  version INTEGER NOT NULL,
  text TEXT NOT NULL,
  active BOOLEAN NOT NULL,
  at FLOAT NOT NULL,
  PRIMARY KEY (project, name, version)
);
CREATE TABLE policy_results (
  run INTEGER NOT NULL,
  policy VARCHAR NOT NULL,
  verdict VARCHAR NOT NULL,
  PRIMARY KEY (run, policy)
)
 WITHOUT ROWID;
CREATE INDEX policy_results_policy ON policy_results (policy, run);
CREATE TABLE projects (
  id INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  retention_days FLOAT,
  PRIMARY KEY (id),
  UNIQUE (name)
);
CREATE TABLE run_tools (
  run INTEGER NOT NULL,
  tool VARCHAR NOT NULL,
  PRIMARY KEY (run, tool)
)
 WITHOUT ROWID;
CREATE INDEX run_tools_tool ON run_tools (tool, run);
CREATE TABLE run_traces (
  project INTEGER NOT NULL,
  trace_id VARCHAR NOT NULL,
  run INTEGER NOT NULL,
  PRIMARY KEY (project, trace_id, run)
)
 WITHOUT ROWID;
CREATE INDEX run_traces_run ON run_traces (run);
CREATE TABLE api_keys (
  id VARCHAR NOT NULL,
  project INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  scopes VARCHAR NOT NULL,
  digest BLOB NOT NULL,
  at FLOAT NOT NULL,
  revoked FLOAT,
  PRIMARY KEY (id),
  FOREIGN KEY(project) REFERENCES projects (id)
);
CREATE TABLE runs (
  id INTEGER NOT NULL,
  project INTEGER NOT NULL,
  "key" VARCHAR NOT NULL,
  first_seen FLOAT NOT NULL,
  last_seen FLOAT NOT NULL,
  root_seen FLOAT,
  version INTEGER NOT NULL,
  checked INTEGER DEFAULT 0 NOT NULL,
  due FLOAT,
  lease FLOAT,
  worker VARCHAR,
  attempts INTEGER DEFAULT 0 NOT NULL,
  agent VARCHAR,
  service VARCHAR,
  source VARCHAR,
  model VARCHAR,
  session VARCHAR,
  case_id VARCHAR,
  outcome VARCHAR,
  error_type VARCHAR,
  complete BOOLEAN,
  listed BOOLEAN,
  calls INTEGER,
  spans INTEGER,
  started_ns BIGINT,
  ended_ns BIGINT,
  findings INTEGER,
  digest VARCHAR,
  joined VARCHAR,
  PRIMARY KEY (id),
  UNIQUE (project, "key"),
  FOREIGN KEY(project) REFERENCES projects (id)
);
CREATE INDEX runs_agent ON runs (project, agent, first_seen) WHERE agent IS NOT NULL;
CREATE INDEX runs_case ON runs (project, case_id, first_seen) WHERE case_id IS NOT NULL;
CREATE INDEX runs_counts ON runs (project, listed, outcome, error_type, spans);
CREATE INDEX runs_due ON runs (due) WHERE due IS NOT NULL;
CREATE INDEX runs_error ON runs (project, error_type, first_seen) WHERE error_type IS NOT NULL;
CREATE INDEX runs_joined ON runs (project, joined) WHERE joined IS NOT NULL;
CREATE INDEX runs_outcome ON runs (project, outcome, first_seen) WHERE outcome IS NOT NULL;
CREATE INDEX runs_project ON runs (project, first_seen);
CREATE INDEX runs_service ON runs (project, service, first_seen) WHERE service IS NOT NULL;
CREATE INDEX runs_session ON runs (project, session, id) WHERE session IS NOT NULL;
CREATE INDEX runs_unbound ON runs (project, outcome, first_seen) WHERE outcome IS NULL AND listed IS NOT 0;
CREATE TABLE webhooks (
  id INTEGER NOT NULL,
  project INTEGER NOT NULL,
  url VARCHAR NOT NULL,
  secret VARCHAR NOT NULL,
  outcomes VARCHAR NOT NULL,
  active BOOLEAN NOT NULL,
  at FLOAT NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(project) REFERENCES projects (id)
);
CREATE TABLE deliveries (
  id INTEGER NOT NULL,
  webhook INTEGER NOT NULL,
  run INTEGER NOT NULL,
  digest VARCHAR NOT NULL,
  body TEXT NOT NULL,
  due FLOAT,
  attempts INTEGER DEFAULT 0 NOT NULL,
  status VARCHAR,
  PRIMARY KEY (id),
  UNIQUE (webhook, run, digest),
  FOREIGN KEY(webhook) REFERENCES webhooks (id)
);
CREATE INDEX deliveries_due ON deliveries (due) WHERE due IS NOT NULL;
CREATE TABLE findings (
  id INTEGER NOT NULL,
  run INTEGER NOT NULL,
  project INTEGER NOT NULL,
  rule VARCHAR NOT NULL,
  type VARCHAR NOT NULL,
  code VARCHAR NOT NULL,
  tool VARCHAR,
  sentence INTEGER,
  calls TEXT NOT NULL,
  explanation TEXT NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(run) REFERENCES runs (id)
);
CREATE INDEX findings_rule ON findings (project, rule, id);
CREATE INDEX findings_run ON findings (run);
CREATE TABLE segments (
  id INTEGER NOT NULL,
  run INTEGER NOT NULL,
  spans INTEGER NOT NULL,
  span_keys BLOB NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(run) REFERENCES runs (id)
);
CREATE INDEX segments_run ON segments (run);
CREATE TABLE verdicts (
  id INTEGER NOT NULL,
  run INTEGER NOT NULL,
  at FLOAT NOT NULL,
  outcome VARCHAR,
  error_type VARCHAR,
  body TEXT NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY(run) REFERENCES runs (id)
);
CREATE INDEX verdicts_run ON verdicts (run);
