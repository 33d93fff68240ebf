"""What kind of text a result is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.digests.echo import without_echo
from sidecar.core.digests.result_kind import (
    ACKNOWLEDGEMENT_MAX,
    RUNNING_MAX,
    WRITTEN_MAX,
    result_kind,
)
from sidecar.core.turn import ResultKind

KINDS = {
    "empty": ResultKind.EMPTY,
    "ack": ResultKind.ACKNOWLEDGEMENT,
    "running": ResultKind.RUNNING,
    "plain": ResultKind.PLAIN,
}
HOW_TO_WAIT = (
    "[The command has no new output after 10 seconds. You may wait longer to see more of it by "
    "sending an empty command, send other commands to interact with the process, or send keys.]"
)


FRAME = (
    "\n[The command completed with exit code 0.]\n[Current working directory: /workspace/django]\n"
    "[Python interpreter: /openhands/poetry/openhands-ai-5O4_aCHf-py3.12/bin/python]\n"
    "[Command finished with exit code 0]"
)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("empty", ""),
        ("empty", " \r\n\t"),
        ("empty", " " * 1_000),
        ("empty", "[]"),
        ("empty", "{ }"),
        ("empty", "null"),
        ("empty", "None"),
        ("empty", '""'),
        ("empty", "exit 0"),
        ("empty", "Exit code: 0"),
        ("empty", "exitcode: 0 (execution succeeded)\nCode output: "),
        ("empty", "(no output)"),
        ("empty", "Tool ran without output or errors"),
        ("empty", "Your command ran successfully with no output."),
        ("empty", "exit 1"),
        ("empty", "Your command ran successfully and did not produce any output."),
        ("empty", "Exit code: 1\nWall time: 0.1 seconds\nOutput:\n"),
        (
            "empty",
            (
                "[The command completed with exit code 1.]\n[Current working directory: /w]\n"
                "[Python interpreter: /openhands/poetry/bin/python]\n"
                "[Command finished with exit code 1]"
            ),
        ),
        ("empty", "<returncode>1</returncode>\n<output>\n</output>"),
        ("empty", '{"output":"","metadata":{"exit_code":1,"duration_seconds":0.0}}'),
        ("empty", "Host alpha-startup.io not found: 3(NXDOMAIN)"),
        ("empty", f" id | {'column ' * 40}\n----+------\n(0 rows)"),
        ("empty", "Warning: the file exists but the contents are empty."),
        ("empty", "<note>The file exists but is empty; there is nothing to show.</note>"),
        ("empty", "(exit code 1)"),
        ("plain", "exit code 2"),
        ("plain", "exit code 1\ngrep: x: No such file or directory"),
        ("plain", "exited with code 137"),
        ("ack", f"ALTER TABLE{FRAME}"),
        ("ack", f"3 files copied{FRAME}"),
        ("plain", f"error: relation is missing{FRAME}"),
        ("plain", f"{'row ' * 60}{FRAME}"),
        ("plain", f"ALTER TABLE{FRAME}\n{'row ' * 40}"),
        ("ack", "exitcode: 0 (execution succeeded)\nCode output: 4"),
        ("running", '{"StackStatus":"CREATE_IN_PROGRESS"}'),
        ("running", "CREATE_IN_PROGRESS"),
        ("running", '{"ProvisioningState": "Running", "name": "a"}'),
        ("running", '{"order":"o1","payment":"pending"}'),
        ("running", "Sync Status: OutOfSync\nHealth Status: Progressing"),
        ("running", "psql: error: FATAL:  the database system is starting up"),
        ("plain", '{"StackStatus":"ROLLBACK_IN_PROGRESS","reason":"limit exceeded"}'),
        ("ack", "Sync Status: Synced\nHealth Status: Healthy"),
        ("ack", "invalid"),
        ("ack", "No answer."),
        ("plain", "invalid key"),
        ("plain", "Exports are disabled here. Please contact your administrator."),
        ("plain", "Contact the workspace administrator to be let in."),
        ("ack", "0"),
        ("ack", "done"),
        ("ack", "BUILD SUCCESS"),
        ("ack", "File created successfully at: /workspace/a.py"),
        ("ack", "3 passed"),
        ("ack", "No matches found"),
        ("ack", "No files found."),
        ("ack", "Found 0 results"),
        ("ack", "0 errors, 0 warnings"),
        ("ack", "Success: no issues found in 3 source files"),
        ("ack", "nothing to commit, working tree clean"),
        ("running", '{"status": "in_progress"}'),
        ("running", '{"id": 7, "status": "queued", "conclusion": null}'),
        ("running", '{"state": "pending", "approvals": 0, "checked_at": "2025-05-09T19:15:17Z"}'),
        ("running", '{"state": "processing", "percent": 26, "updatedAt": "2025-10-03T12:36:35Z"}'),
        ("ack", '{"title": "Fix the login", "state": "pending", "id": 5}'),
        ("running", "pending"),
        ("running", "Build in progress..."),
        ("running", "Waiting for deployment rollout to finish: 1 out of 3 updated"),
        ("running", "Der Job läuft noch."),
        ("running", "任务仍在运行中"),
        ("ack", '{"id": 7, "status": "pending", "total": 12.5}'),
        ("plain", "fatal: no rebase in progress"),
        ("plain", "Zugriff verweigert: Ihnen fehlt die Berechtigung."),
        ("plain", "Acceso denegado: permisos insuficientes"),
        ("plain", "Accès refusé"),
        ("plain", "错误:没有权限访问该资源。"),
        ("plain", "アクセスが拒否されました"),
        ("plain", "Доступ запрещён"),
        ("ack", "Cliente atualizado no banco de dados."),
        ("ack", "Gespeichert, 0 Fehler."),
        ("ack", "Übersetzung gespeichert"),
        ("ack", "No"),
        ("ack", "not found"),
        ("ack", "Not found."),
        ("ack", "Already exists"),
        ("ack", '{"success": true, "error": null}'),
        ("ack", '{"data": {"ok": true}, "errors": []}'),
        ("ack", '{"deleted": true, "cascade": false, "warnings": []}'),
        ("ack", '{"total": 2, "successful": 1, "failed": 0, "timed_out": false}'),
        ("ack", "WARNING: pip is run as root, which can result in broken permissions"),
        ("ack", "npm warn deprecated x@1: This is not supported. Do not use it.\nadded 1 package"),
        ("ack", "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; finished in 0.00s"),
        ("ack", "100% tests passed, 0 tests failed out of 4"),
        (
            "ack",
            "Summary: 1 resource found in 1 file - Valid: 1, Invalid: 0, Errors: 0, Skipped: 0",
        ),
        ("ack", "web1 : ok=3 changed=1 unreachable=0 failed=0"),
        ("ack", "# pass 3\n# fail 0"),
        ("ack", f"No changes. Your infrastructure matches the configuration. {'Compared. ' * 30}"),
        ("ack", "a.py:469: ConvergenceWarning: lbfgs failed to converge (status=1)"),
        ("plain", "a.py:469: ConvergenceWarning: lbfgs failed\nTypeError: no"),
        ("plain", f"Ran successfully, but with an error at last. {'See there. ' * 30}"),
        ("plain", f"Listed. {'One more. ' * 30}"),
        ("plain", "test result: FAILED. 1 passed; 1.0 failed"),
        ("plain", '{"success": false, "error": "quota"}'),
        ("plain", '{"errors": [{"code": 7}]}'),
        ("plain", '{"failed": 10}'),
        ("plain", "Warning: cannot write\nerror: disk full"),
        ("plain", "You are at the bottom of the page."),
        ("plain", "Reached the end of the list."),
        ("plain", "The end of page"),
        ("plain", '{"items": [{"id": 1}, {"id": 2}], "next": "b2Zm"}'),
        ("ack", '{"items": [{"id": 1}]}'),
        ("plain", "Clicked. No change on the page."),
        ("plain", "Nothing happens."),
        ("plain", "Clicked\n[3]<a>Home</a>\n[4]<button>Load more</button>"),
        ("ack", "Clicked\n[4]<button>Load more</button>"),
        ("plain", "[12] link 'Forums'\n[13] StaticText 'Home'"),
        ("plain", '- button "Pay" [ref=e5]\n  - text: Total [ref=e6]'),
        ("plain", "Activity: .Checkout\n0: Title 'Checkout'\n1: Button 'Pay'"),
        ("ack", "3: import os\n7: import sys"),
        ("plain", "Screenshot (1280x800): a dialog is in front"),
        ("ack", "Screenshot saved: /tmp/a.png"),
        ("plain", "Clicked, but the page did not change."),
        ("ack", "Found it at the end of line 3"),
        ("plain", "1 failed, 2 passed"),
        ("plain", "Found 3 errors"),
        ("plain", "No such file or directory"),
        ("plain", "oldString not found"),
        ("plain", "TypeError: bad"),
        ("plain", "You can't do that"),
        ("plain", "You can\u2019t do that"),
        ("plain", "ok " * 70),
        ("running", "[Command still running]"),
        ("running", "The process is still running (pid 12)."),
        ("running", "<status>running</status>\n<shell>1</shell>"),
        ("running", HOW_TO_WAIT),
        ("running", "RUNNING"),
        ("running", '{"id": 7, "status": "running"}'),
        ("plain", "Please log in first."),
        ("plain", "Rate limit reached, please slow down."),
        ("plain", "Insufficient permissions."),
        ("plain", "The database is locked."),
        ("plain", "I'm sorry, I can't help with that."),
        ("plain", "Something went wrong. Please try again later."),
        ("plain", "Ihre Sitzung ist abgelaufen. Bitte melden Sie sich erneut an."),
        ("plain", "Sie haben keine Rechte für diese Aktion."),
        ("plain", "Debe iniciar sesión."),
        ("plain", "Votre session a expiré. Veuillez vous reconnecter."),
        ("plain", "Você não tem permissão."),
        ("plain", "请先登录。"),
        ("plain", "タイムアウトしました。"),
        ("plain", "Срок действия сеанса истёк. Войдите снова."),
        ("plain", "시간이 초과되었습니다."),
        ("ack", "disabled"),
        ("ack", "Account is active, last sign in 3 days ago"),
        ("plain", "The job is no longer running"),
        ("ack", '{"eligible": false, "reason": "Return window expired"}'),
        ("ack", '{"id": "a", "is_valid": false}'),
        ("plain", '{"valid": false, "error": "forbidden"}'),
        ("ack", "No flights available on the requested date."),
        ("ack", "No person detected in this frame."),
        ("plain", "No tools available."),
        ("ack", "example.com is not available."),
        ("plain", "The service is not available."),
        ("ack", "Not vulnerable"),
        ("ack", "Field not filled in."),
        ("plain", "could not connect"),
        ("plain", "Not authorized"),
        ("plain", "not responding"),
        ("ack", "No action required."),
        ("ack", '{"status": "cancelled"}'),
        ("plain", '{"status": "not_found"}'),
        ("ack", "http_req_failed: 0.00%"),
        ("plain", "http_req_failed: 0.02%"),
        ("ack", "Imported 100 rows, 0 rejected"),
        ("ack", "No packet loss"),
        ("ack", "Nothing is still running"),
        ("plain", "No process is still running"),
        ("ack", "a\nb\nc\nstill running\n"),
        ("plain", f"still running {'.' * RUNNING_MAX}"),
    ],
)
def test_a_result_is_one_of_four_kinds(kind: str, text: str) -> None:
    assert result_kind(text) is KINDS[kind]


def test_an_acknowledgement_is_short() -> None:
    assert result_kind("x" * ACKNOWLEDGEMENT_MAX) is ResultKind.ACKNOWLEDGEMENT
    assert result_kind("x" * (ACKNOWLEDGEMENT_MAX + 1)) is ResultKind.PLAIN


def test_what_a_write_says_may_be_longer() -> None:
    confirmation = "The edit has been applied. Review the changes. " * 10

    assert result_kind(confirmation) is ResultKind.PLAIN
    assert result_kind(confirmation, wrote=True) is ResultKind.ACKNOWLEDGEMENT
    assert result_kind(confirmation + "It failed.", wrote=True) is ResultKind.PLAIN
    assert result_kind("x" * (WRITTEN_MAX + 1), wrote=True) is ResultKind.PLAIN


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("plain", "String to replace not found in file."),
        ("plain", "No match found for old_string in file."),
        ("plain", "0 occurrences found for old_string."),
        ("plain", "No changes made to file."),
        ("plain", "Could not find the string to replace"),
        ("ack", "Updated it. (the file is current in your context: no need to read it back)"),
        ("ack", "<notice>You do not need to read the file again</notice>"),
        ("ack", "Applied 1 edit. Please review it: errors can be undone, and not lost."),
        ("ack", "Refund issued. It cannot be undone, and no mail was sent."),
        ("ack", '{"granted": true, "note": "cannot be transferred"}'),
        ("ack", '{"status":"saved","message":"Not visible until it was approved."}'),
        ("plain", '{"status":"failed","message":"Not visible until it was approved."}'),
        ("ack", "The file src/f.ts has been updated. The linter reported no errors or warnings."),
        ("ack", "The file src/f.ts has been updated. Warnings of before must be looked at too."),
        ("plain", "The file src/f.ts has been updated. The linter reported 2 errors."),
        ("plain", "The file was saved. However, it does not parse: invalid syntax."),
        ("plain", "No file was saved. It does not exist."),
        ("plain", "Tried the edit. Please review it. It failed."),
        ("plain", "Applied 0 edits. The text was not found. Please review it."),
    ],
)
def test_a_write_that_found_nothing_to_change_is_refused(kind: str, text: str) -> None:
    assert result_kind(text, wrote=True) is KINDS[kind]


@pytest.mark.parametrize(
    "text",
    [
        "No known vulnerabilities.",
        "No open alerts.",
        "No conflicts with other bookings.",
        "No drift detected.",
        "No secrets found.",
        "Aucun résultat.",
        "No se encontraron errores.",
        "No hay coincidencias.",
        "Nenhum registro encontrado.",
        "Não há conflitos.",
        "Nessun risultato.",
        "Ошибок не найдено.",
        "Записей нет.",
        "未找到相关记录",
        "没有发现问题",
        "該当するデータはありません",
        "エラーは見つかりませんでした",
        "검색 결과가 없습니다",
    ],
)
def test_that_nothing_was_found_is_no_refusal_in_any_of_these_languages(text: str) -> None:
    assert result_kind(text) is ResultKind.ACKNOWLEDGEMENT


@pytest.mark.parametrize("wrote", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "No se encontró el archivo.",
        "No se pudo leer datos.",
        "No se puede guardar registro",
        "Não foi possível registrar os dados.",
        "Não foi encontrado o arquivo.",
        "Error: no hay conexión",
        "No hay permisos suficientes",
        "Aucun accès autorisé: refusé",
        "данных не хватает, ошибка",
        "Файл не найден.",
        "Ошибка: доступ запрещён",
        "找不到数据库",
        "没有权限",
        "未找到文件",
        "保存失败：权限不足",
        "エラーが発生しました",
        "ファイルが見つかりません",
        "権限がありません",
        "권한이 없습니다",
        "파일을 찾을 수 없습니다",
        "Nessun accesso: errore",
        "No messages were sent.",
        "No comments added: forbidden",
        "no orders created",
    ],
)
def test_a_refusal_in_words_of_finding_nothing_is_one(text: str, wrote: bool) -> None:
    assert result_kind(text, wrote=wrote) is ResultKind.PLAIN


@pytest.mark.parametrize(
    ("kind", "text", "failed"),
    [
        ("empty", "Exit code 1\n0", False),
        ("empty", "0", True),
        ("empty", "exit code: 1\n0", True),
        ("plain", "Exit code 2\n0", True),
        ("ack", "0", False),
        ("plain", "Exit code 1\n7", True),
    ],
)
def test_a_failed_count_of_none_is_an_empty_result(kind: str, text: str, failed: bool) -> None:
    assert result_kind(text, failed=failed) is KINDS[kind]


@given(
    st.lists(
        st.sampled_from(["not", "don't", "no", "errors", "ValueError", "saved", "7", "found"]),
        min_size=1,
        max_size=6,
    ),
    st.characters(max_codepoint=127, exclude_categories=["L", "Nd"], exclude_characters="'_"),
)
def test_words_are_the_same_words_in_ascii_and_beside_another_letter(
    words: list[str], between: str
) -> None:
    text = f"it was {between.join(words)}"
    assert result_kind(text) == result_kind(f"{text} \u00e9 ")


@given(st.text(max_size=60))
def test_no_text_raises(text: str) -> None:
    assert result_kind(text) in ResultKind
    assert text.endswith(without_echo(text, text))


@pytest.mark.parametrize(
    ("why", "result", "arguments", "rest"),
    [
        ("the command", "ls -l\na\nb", '{"command": "ls -l"}', "a\nb"),
        ("a command of two lines, by a terminal", "a\r\nb\r\nout", '{"command": "a\\nb"}', "out"),
        ("a command that is the whole result", "touch 'x y'", '{"command": "touch \'x y\'"}', ""),
        ("a command under another key", "ls\nx", '{"cmd": "ls"}', "x"),
        ("a prompt before it", "root@a1:/app# ls -l\nx", '{"keystrokes": "ls -l\\n"}', "x"),
        ("a bare prompt", "$ ls\nx", '{"command": "ls"}', "x"),
        ("Gemini CLI's word", "Command: ls\nOutput: x", '{"command": "ls"}', "Output: x"),
        ("a prompt with another command", "$ pwd\nx", '{"command": "ls"}', "$ pwd\nx"),
        ("a quoted command", 'echo "a"\na', '{"command": "echo \\"a\\""}', "a"),
        ("a result that begins otherwise", "total 3\nls", '{"command": "ls"}', "total 3\nls"),
        ("a result that begins alike", "lsof\n", '{"command": "ls"}', "lsof\n"),
        ("an empty command", "\nx", '{"command": ""}', "\nx"),
        ("arguments that are no JSON", "ls\nx", "ls", "ls\nx"),
        ("arguments that are no object", "ls\nx", '["ls"]', "ls\nx"),
        ("a command that is no text", "ls\nx", '{"command": ["ls"]}', "ls\nx"),
    ],
)
def test_an_echoed_command_is_taken_off(why: str, result: str, arguments: str, rest: str) -> None:
    assert without_echo(result, arguments) == rest, why


def test_without_arguments_nothing_is_an_echo() -> None:
    assert without_echo("ls\nx", None) == "ls\nx"
