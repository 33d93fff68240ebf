"""What kind of call a tool call is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.digests.call_kind import asks_for_status, call_kind, kind_by_name
from sidecar.core.digests.measured import TEXT_MAX
from sidecar.core.digests.shell import command_kind
from sidecar.core.policy import Lens
from sidecar.core.turn import CallKind

KINDS = {
    "wait": CallKind.WAIT,
    "look": CallKind.OVERVIEW,
    "step": CallKind.NAVIGATION,
    "write": CallKind.WRITE,
    "plain": CallKind.PLAIN,
    "press": CallKind.PRESS,
}


def kind_of(name: str, arguments: object = None) -> CallKind:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return call_kind(name, None if arguments is None else text)


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("wait", ""),
        ("wait", " \n"),
        ("wait", "sleep 30"),
        ("wait", "sleep 5 && tail -3 build.log"),
        ("wait", "cd /app; sleep 110; tail -1 build.log | head"),
        ("wait", "wait"),
        ("wait", "until curl -s localhost:3000; do sleep 1; done"),
        ("wait", "while kill -0 123; do sleep 5; done"),
        ("wait", "sleep 1; ls; sleep 1; ls"),
        ("plain", "sleep 1; make; sleep 1"),
        ("wait", "sleep 30; ssh build1 uptime"),
        ("wait", "sleep 5 && pg_isready -h db"),
        ("wait", "sleep 15; python check_job.py"),
        ("wait", "sleep 0.5m; npm test"),
        ("plain", "sleep 4.5 && npm test"),
        ("plain", "sleep; npm test"),
        ("plain", "sleep infinity; npm test"),
        ("write", "sleep 30; git push"),
        ("look", "git status; git status; git status"),
        ("write", "ls; ls; rm a; ls"),
        ("plain", "sleep 2 && npm test"),
        ("plain", "./server & sleep 2; curl localhost"),
        ("plain", "kubectl get pods"),
        ("plain", "tail -3 build.log"),
        ("plain", "echo sleep 5"),
        ("plain", "grep -rn 'sleep 5' src"),
        ("look", "git status"),
        ("look", "git status --short"),
        ("look", "git -C . status --porcelain=v1"),
        ("look", "git --no-pager diff --stat"),
        ("look", "git diff HEAD"),
        ("plain", "git log --grep=parser"),
        ("plain", "git log --author=ada"),
        ("look", "git diff main...feature"),
        ("look", "git diff --name-only HEAD~2"),
        ("look", "git diff --stat\ngit status --short"),
        ("look", "git status --short && git diff --stat; git ls-files --modified"),
        ("look", "cd /app && git status | head -20"),
        ("look", "git log --oneline -5"),
        ("look", "git branch -a"),
        ("look", "git stash list"),
        ("look", "ls"),
        ("look", "ls -la ."),
        ("look", "pwd && ls"),
        ("plain", "git diff src/a.py"),
        ("plain", "git diff -- a.py"),
        ("plain", "git diff -p"),
        ("plain", "git log -S needle"),
        ("plain", "git show HEAD"),
        ("plain", "git status && cat a.py"),
        ("plain", "git status | grep src"),
        ("plain", "ls src"),
        ("plain", "ls -R /workspace"),
        ("plain", "git"),
        ("write", "git add a && git status --short && git commit -m done"),
        ("write", "git commit -am 'x; y'"),
        ("write", "git checkout -- a.py"),
        ("write", "git stash"),
        ("write", "git branch topic"),
        ("write", "sed -i 's/a/b/' f"),
        ("write", "sed -i.bak s/a/b/ f"),
        ("write", "sudo rm -rf build"),
        ("write", "FOO=1 mkdir -p a/b"),
        ("write", "find . -name '*.pyc' -delete"),
        ("write", "cat a | tee b"),
        ("write", "echo x > f"),
        ("write", "python gen.py >> out.txt 2>&1"),
        ("write", "cat > f <<'EOF'\nif a > b; rm -rf\nEOF"),
        ("write", "cat <<EOF > f\ntext\nEOF"),
        ("write", "npm install left-pad"),
        ("write", "python -m pip install x"),
        ("write", "black src"),
        ("write", "ruff check --fix ."),
        ("write", "find . -name a | xargs rm"),
        ("plain", "sed -n 1,5p f"),
        ("plain", "black --check src"),
        ("plain", "npm test"),
        ("plain", "pip list"),
        ("plain", "pytest -q 2>&1 | tail -5"),
        ("plain", "make 2>/dev/null >/dev/null"),
        ("plain", "awk '$1 > 3' f"),
        ("plain", "python -c 'print(1 > 0)'"),
        ("plain", "python - <<'EOF'\nrm = 1 > 0\nEOF"),
        ("plain", "echo 'rm -rf /'"),
        ("plain", 'echo "a; rm b"'),
        ("plain", "# rm a comment"),
        ("plain", "cat rm"),
        ("step", "next"),
        ("step", "n 3"),
        ("step", "git bisect good"),
        ("step", "git -C /r bisect skip"),
        ("plain", "git bisect start"),
        ("plain", "make test && git bisect bad"),
        ("wait", "kubectl rollout status deployment/api --timeout=60s"),
        ("write", "kubectl apply -f x.yml && kubectl rollout status deploy/x"),
        ("wait", "kubectl -n ci wait --for=condition=ready pod/y"),
        ("wait", "aws cloudformation wait stack-create-complete --stack-name web"),
        ("wait", "gh run watch 991 --exit-status"),
        ("wait", "docker wait c1"),
        ("write", "kubectl -n ci apply -f x.yml"),
        ("plain", "kubectl -n ci get apply"),
        ("write", "npm pkg set main=x"),
        ("plain", "npm run set"),
        ("write", "go mod tidy"),
        ("write", "dotnet add package X"),
        ("write", "sudo systemctl restart nginx"),
        ("plain", "systemctl status nginx"),
        ("write", "iptables -A INPUT -j DROP"),
        ("plain", "iptables -L"),
        ("write", 'psql -qc "DELETE FROM a"'),
        ("plain", "psql -c 'select 1' # update "),
        ("write", "Get-Content a | Set-Content b"),
        ("plain", "Get-ChildItem"),
        ("write", "git remote set-url origin x"),
        ("plain", "git remote -v show"),
        ("press", "adb shell input swipe 1 2 3 4 && sleep 1"),
        ("press", "xdotool key Tab"),
        ("plain", "adb devices"),
        ("plain", "kubectl rollout restart deploy/x"),
        ("plain", "kubectl get pods --watch"),
        ("plain", "gh run view 991"),
        ("plain", "aws s3 ls wait"),
        ("step", "c"),
        ("plain", "next build"),
        ("plain", "npx next"),
        ("look", "git status 2>&1"),
        ("look", "git status 2>/dev/null | head -5"),
        ("look", "git diff >/dev/null 2>&1; git status &>/dev/null"),
        ("write", "make &> build.err"),
        ("wait", "sleep 30 2>&1; ls"),
        ("plain", "pytest -q 2>&1 | tee /tmp/out"),
        ("wait", "sleep 60 | tee wait.log"),
        ("plain", "make | tee -a build.log"),
        ("write", "echo x | tee notes.txt"),
        ("write", "./gen | tee config.yml"),
        ("look", "bash -lc 'git status'"),
        ("look", 'cd /app && timeout 60 /bin/bash -c "git diff --stat" 2>&1 | tail -5'),
        ("wait", "ssh -i key build1 'sleep 30; uptime'"),
        ("write", "docker exec web sh -c 'rm -rf /cache'"),
        ("look", 'powershell -NoProfile -Command "git status"'),
        ("write", "bash -c \"sh -c 'rm a'\""),
        ("plain", 'bash -c "bash -c \\"sh -c \'rm a\'\\""'),
        ("plain", "bash -c 'rm a"),
        ("plain", "bash run.sh 'rm a'"),
        ("plain", "tar -c 'rm a'"),
        ("look", "( cd a && git status )"),
        ("write", "perl -0pi -e 's/a/b/' x"),
        ("plain", "perl -ne 'print' x"),
        ("write", "sed -Ei 's/a/b/' x"),
        ("write", "sed -i'' -e 's/a/b/' x"),
        ("plain", "sed -nE 's/a/b/p' x"),
        ("write", "gawk -i inplace '{print}' x"),
        ("plain", "awk '{print}' inplace.txt"),
        ("write", "tar xzf a.tgz"),
        ("write", "tar -czf a.tgz src"),
        ("plain", "tar tzf src"),
        ("write", "node -e \"require('fs').writeFileSync('a', 'b')\""),
        ("write", "python3 - <<'PY'\nfrom pathlib import Path\nPath('a').write_text('b')\nPY"),
        ("plain", "python3 - <<'PY'\nprint(open('a').read())\nPY"),
        ("write", "python -c \"open('a', 'w').write('b')\""),
        ("write", "docker exec web sed -i s/a/b/ c"),
        ("look", "docker exec -u root -it web ls"),
        ("write", 'kubectl exec db-0 -- psql -c "UPDATE t SET a = 1"'),
        ("plain", "docker exec web"),
        ("write", "sudo -u www sed -i s/a/b/ c"),
        ("write", "ruff format ."),
        ("plain", "ruff format --check ."),
        ("write", "uv run ruff format ."),
        ("write", "git notes add -m a"),
        ("plain", "git notes show"),
    ],
)
def test_a_shell_command_is_what_it_does(kind: str, command: str) -> None:
    assert command_kind(command) is KINDS[kind]
    assert kind_of("execute_bash", {"command": command}) is KINDS[kind]


@pytest.mark.parametrize(
    ("kind", "name", "arguments"),
    [
        ("wait", "wait", {}),
        ("wait", "browser_wait_for", {"time": 3}),
        ("wait", "WaitForJob", None),
        ("wait", "computer", {"action": "wait", "duration": 2}),
        ("wait", "write_stdin", {"session_id": 1, "chars": ""}),
        ("wait", "run_code", {"code": "import time\ntime.sleep(60)"}),
        ("plain", "get_job_status", {"id": 1}),
        ("plain", "task_list", {"status": "in_progress"}),
        ("plain", "waiter_report", {}),
        ("look", "git_status", {"repo_path": "/r"}),
        ("look", "mcp__git__git_diff_unstaged", {}),
        ("look", "list_files", {"path": "."}),
        ("look", "LS", {}),
        ("plain", "git_diff", {"path": "a.py"}),
        ("plain", "list_files", {"path": "src"}),
        ("plain", "list_orders", {}),
        ("step", "browser_action", {"action": "scroll_up"}),
        ("step", "page_down", {}),
        ("step", "computer", {"action": "screenshot"}),
        ("step", "browser_take_screenshot", {}),
        ("step", "nextPage", {}),
        ("step", "debugger_step_over", {}),
        ("step", "debugger", {"action": "next"}),
        ("step", "computer", {"action": "key", "text": "Page_Down"}),
        ("step", "gdb", {"command": "next"}),
        ("plain", "step", {"action": "search for data"}),
        ("press", "computer", {"action": "key", "text": "Return"}),
        ("press", "browser_action", {"action": "click"}),
        ("press", "computer", {"action": "left_click", "coordinate": [3, 4]}),
        ("press", "browser_click", {"ref": "e12"}),
        ("press", "pressKey", {"key": "Return"}),
        ("step", "pressKey", {"key": "Tab"}),
        ("step", "computer", {"action": "key", "text": "Tab"}),
        ("plain", "computer", {"action": "type", "text": "hello"}),
        ("write", "Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("write", "write_file", {"path": "a"}),
        ("write", "functions.apply_patch", "*** Begin Patch"),
        ("write", "str_replace_editor", {"command": "str_replace", "path": "a"}),
        ("write", "str_replace_editor", {"command": "create", "path": "a"}),
        ("write", "git_commit", {"message": "x"}),
        ("write", "execute_sql", {"query": "UPDATE a SET b = 1"}),
        ("write", "execute_ipython_cell", {"code": "edit_file_by_replace('a', 'x', 'y')"}),
        ("write", "python", {"code": "open('a', mode='w').write('x')"}),
        ("write", "python", {"code": "copy(open(a), open(b, 'w'))"}),
        ("write", "book_reservation", {"user_id": "x"}),
        ("write", "turn_on_light", {"room": "hall"}),
        ("write", "close_ticket", {"id": 3}),
        ("plain", "get_set_of_rules", {}),
        ("write", "mcp__billing__grant_credit", {"account": 1}),
        ("plain", "mcp__shop__get_orders", {}),
        ("write", "refund_order", {"id": 3}),
        ("plain", "order_status", {"id": 3}),
        ("plain", "add", {"a": 1, "b": 2}),
        ("write", "add_to_cart", {"sku": 1}),
        ("press", "swipe", {"x": 1}),
        ("press", "drone_forward", {"metres": 1}),
        ("press", "move", {"direction": "E"}),
        ("press", "undo", {}),
        ("write", "forward_email", {"to": "a"}),
        ("write", "move_file", {"path": "a"}),
        ("step", "process_next", {}),
        ("plain", "get_next_steps", {}),
        ("write", "execute_sql", {"query": "MERGE INTO a USING b ON a.id = b.id"}),
        ("plain", "str_replace_editor", {"command": "view", "path": "a"}),
        ("plain", "execute_sql", {"query": "SELECT * FROM updates"}),
        ("plain", "get_update_history", {}),
        ("plain", "TodoWrite", {"todos": []}),
        ("plain", "update_todo_list", {"todos": "[x] read"}),
        ("plain", "save_memory", {"fact": "The parser is slow."}),
        ("write", "update_plan", {"plan": "basic"}),
        ("plain", "Read", {"file_path": "a"}),
        ("plain", "run_tests", {}),
        ("plain", "python", {"code": "print(open('a').read())"}),
        ("plain", "python", {"code": "reopen(a, 'w'), open(a)\nf(b, 'w')"}),
        ("plain", "bash", {"command": None, "restart": True}),
        ("write", "search_replace", {"file_path": "a", "old_string": "x", "new_string": "y"}),
        ("write", "find_and_replace", {"path": "a"}),
        ("plain", "search_replacements", {"query": "a"}),
        ("write", "change_file", {"path": "a", "old_str": "x", "new_str": "y"}),
        ("write", "FileWriterTool", {"filename": "a", "content": "x"}),
        ("plain", "say", {"content": "x"}),
        ("plain", "check_syntax", {"path": "a", "content": "x"}),
        ("write", "billing_refund_order", {"id": 3}),
        ("write", "mcp_billing_refund_order", {"id": 3}),
        ("write", "mcpBillingRefundOrder", {"id": 3}),
        ("write", "billing-refund_order", {"id": 3}),
        ("plain", "billing_refund_status", {"id": 3}),
        ("plain", "get_refund_policy", {}),
        ("plain", "feature_flag_value", {}),
        ("look", "shell", {"CommandLine": "git status"}),
        ("look", "terminal", {"code": "git status"}),
        ("look", "run_in_terminal", {"shell_command": "git status"}),
        ("wait", "launch-process", {"command": "sleep 30", "wait": True}),
        ("look", "desktop.start_process", {"command": "git status"}),
        ("plain", "execute_action", {"action_id": "update_contact", "input": {"id": 1}}),
        ("plain", "run_agent", {"input": "wait for the customer"}),
        ("look", "run_terminal", {"input": "git status"}),
        ("plain", "run_command", {"command": {"id": 1}}),
        ("write", "add_sleep_entry", {"hours": 7}),
        ("plain", "get_wait_times", {"park": "north"}),
        ("plain", "sleep_log", {}),
        ("wait", "browser", {"action": "wait_for", "selector": "a"}),
        ("press", "mine_block", {"kind": "stone"}),
        ("press", "end_turn", {}),
        ("plain", "end_report", {}),
        ("plain", "", {}),
    ],
)
def test_a_tool_is_what_its_name_and_its_arguments_say(
    kind: str, name: str, arguments: object
) -> None:
    assert kind_of(name, arguments) is KINDS[kind]


@pytest.mark.parametrize(
    "arguments",
    [
        {"cmd": "git status"},
        {"command": ["bash", "-lc", "git status"]},
        {"command": ["/bin/sh", "-c", "git status"]},
        {"command": ["git", "status"]},
        "git status",
    ],
)
def test_a_shell_takes_its_command_in_many_ways(arguments: object) -> None:
    assert kind_of("shell", arguments) is CallKind.OVERVIEW


def test_tools_that_the_policy_names_are_what_it_says() -> None:
    lens = Lens(waiting_tools=frozenset({"poll"}), navigation_tools=frozenset({"Edit"}))
    assert lens.kind_of("poll") is CallKind.WAIT
    assert lens.kind_of("Edit") is CallKind.NAVIGATION
    assert lens.kind_of("poll2") is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("wait_for_agent", "wait"),
        ("scroll", "step"),
        ("browser_click", "press"),
        ("str_replace_editor", "plain"),
        ("bash", "plain"),
    ],
)
def test_without_its_arguments_a_call_is_what_its_name_says(name: str, kind: str) -> None:
    assert kind_by_name(name) is KINDS[kind]


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("get_job_status", True),
        ("jobs.get", True),
        ("mcp__ci__job_state", True),
        ("mcp__jobs__read_file", False),
        ("git_status", False),
        ("update_status", False),
    ],
)
def test_a_tool_asks_for_a_status_by_its_own_name(name: str, asks: bool) -> None:
    assert asks_for_status(name) is asks


def test_arguments_that_cannot_be_read_are_plain() -> None:
    long = json.dumps({"command": "rm " + "x" * TEXT_MAX})
    assert kind_of("bash", long) is CallKind.PLAIN
    assert kind_of("browser_action", '{"action": [' * 20_000) is CallKind.PLAIN


@given(st.text(max_size=30), st.text(max_size=60))
def test_no_text_raises(name: str, text: str) -> None:
    assert kind_of(name, text) in CallKind
    assert kind_of("bash", {"command": text}) in CallKind
    assert kind_of(name, {"action": text, "command": text, "path": text}) in CallKind
