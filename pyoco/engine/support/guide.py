"""The flow.yaml format in a few words, with an example that loads and builds as it stands."""

TEMPLATE = """\
version: 1
tasks:
  fetch:
    callable: my_project.tasks:fetch     # module.path:function
    inputs:
      url: $ctx.params.url
    retries: 3
    timeout_sec: 60
  split:
    callable: my_project.tasks:split
    inputs:
      page: $node.fetch.output
    outputs: [params.parts]
  store:
    callable: my_project.tasks:store
  poll:
    callable: my_project.tasks:poll
  sign_off:
    use: pyoco/approval
  publish:
    use: acme/publish                    # a task of an installed plugin
  notify:
    callable: my_project.tasks:notify
    fail_policy: isolate
pipes:
  load: fetch >> split
flow:
  graph: |
    pipe(load)
    >> foreach(over={{parts}}, item=part) { store }
    >> until(cond={{results.poll.done}}, max_iter=20) { poll }
    >> switch(on={{mode}}) {
      release: sign_off >> publish;
      default: notify;
    }
  defaults:
    url: https://example.org/
    mode: trial
"""

GRAPH_SYNTAX = """\
- `a >> b` runs b after a. Line breaks and `# comments` may stand anywhere between words.
- Only tasks that the graph mentions are run. The name of a task is letters, digits and `_`.
- `copy: a` runs task a under the name `copy`, with a result of its own.
- `pipe(NAME)` inserts the graph that stands under `pipes:` with that name.
- `switch(on=VALUE) { key: a >> b; other: c; default: d; }` runs one branch; without a match and without `default` the
  run fails. Keys are words, whole numbers, true, false, or text in quotes.
- `repeat(count=3) { a }` runs the body three times.
- `foreach(over=LIST, item=name, index=i) { a }` runs the body once per element; `item` and `index` are optional.
- `until(cond=EXPRESSION, max_iter=20) { a }` runs the body, then tests the condition, until it is true; reaching
  `max_iter` (1000 if not given) fails the run.
- A VALUE is `{{name}}` (a run parameter or loop variable), `{{params.x}}`, `{{results.task}}`, `{{scratch.x}}`,
  `{{env.NAME}}`, or an expression with `$ctx.` such as `{{$ctx.params.n > 3 and not $ctx.scratch.done}}`.
"""

INPUT_REFERENCES = """\
- `$node.TASK.output` is what TASK returned; `$node.TASK.output.a.b` goes into it. TASK must have run before.
- `$ctx.params.NAME` is a run parameter: from `flow.defaults` or given when the run is started.
- `$env.NAME` is an environment variable.
- Every other value is taken as it is written.
- An argument that `inputs` does not name gets the run parameter of the same name, else the result of the task of the
  same name, else the default of the function. An argument called `ctx` gets the context of the run.
- What a task returns can also be saved with `outputs: [params.NAME]`, `[scratch.NAME]` or `[results.NAME]`.
- A task is `callable: module.path:function`, or `use: NAME` for a task of a plugin, of a discovered module, or a
  built-in one: `pyoco/approval` waits for a person's decision, `pyoco/external` for a result sent from outside.
- Optional in each entry of `tasks:` are `retries`, `backoff`, `timeout_sec`, `fail_policy` (stop, isolate) and
  `trigger_policy` (ALL, ANY).
- Modules to search for tasks are named in the environment variable PYOCO_DISCOVERY_MODULES, never in the file.
"""
