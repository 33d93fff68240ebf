"""What results say in other languages than English: refusals, and that nothing was found or went
wrong. Single words of refusal that are one in any text stand in `result_kind`.
"""

import re
from typing import Final

_REFUSED_ELSEWHERE = re.compile(
    r"отказан|запрещ|ошибк|не найден|не удалось|не существует|войдите|ист[её]к|нет прав"
    r"|недоступ|превышен|неизвестн"
    r"|拒绝|沒有權限|没有权限|无权|权限不足|禁止|错误|錯誤|失败|失敗|未找到|找不到|不存在|无法|無法"
    r"|登录|登錄|已过期|过于频繁|稍后再试|不可用|超时|未知命令|无效"
    r"|拒否|エラー|見つかり|ありません|できません|権限が|ログインして|有効期限|タイムアウト"
    r"|거부|권한이 없|오류|실패|찾을 수 없|로그인하|만료|사용할 수 없|초과"
    r"|inicie sesión|iniciar sesión|sesión ha caducado|límite de |não tem |sessão expirou"
    r"|indisponível|session a expiré|reconnecter|vous devez|dépassé|zeitüberschreitung"
    r"|für diese aktion|accès restreint|невозможн|参数有误|参数错误|不正确"
    r"|許可されていません|許可されません|허용되지"
    r"|\b(?:ya|já) existe|\bexiste (?:déjà|ya)"
    r"|\bnon (?:trovat|autorizzat|consentit|disponibil|valid|esist|riuscit|permess)"
    r"|\b(?:sem|sin|senza|sans) (?:perm|acces|acesso|accès|autori[sz])"
    r"|\bkeine? (?:zugriff|berechtigung|rechte)"
)
"""What a refusal says in Russian, Chinese, Japanese and Korean, and by more than a word in the
languages of _REFUSALS, as common systems have it."""
_REFUSED_ELSEWHERE_CUES: Final = tuple("non |sem |sin |senza |sans |kein|existe".split("|"))
"""One of these stands in every text in ASCII in which _REFUSED_ELSEWHERE matches."""
_NO_ERRORS_ELSEWHERE = re.compile(
    r"(?:\b0|\bkeine?|\bsans|\bsin|\bsem|\bбез|无|没有|沒有)\s?"
    r"(?:fehler\w*|erreurs?|error(?:es)?|erros?|ошибок|错误|錯誤)|エラー(?:なし|はありません)"
)
_NONE_ELSEWHERE_CUES: Final = tuple(
    "nicht |pas d|aucun|no se |no hay |nenhum|non ci |nessun|ningun|sin |sem |senza ".split("|")
)
"""One of these stands in every text in ASCII in which _NONE_ELSEWHERE matches."""
_NONE_ELSEWHERE = re.compile(
    # German, French, Spanish, Portuguese, Italian.
    r"\bnicht (?:betroffen|anfällig|fällig|nötig|erforderlich)\b"
    r"|\baucune? (?:autre )?(?:résultat|correspondance|enregistrement|donnée|élément|erreur|conflit"
    r"|problème|avertissement|changement)\w*"
    r"|\bpas d(?:e |.)(?:retard|problème|conflit|changement|doublon|erreur)s?\b"
    r"|\b(?:no hay|no se (?:encontr|hall|detect|produj)\w+|não (?:há|houve)"
    r"|não (?:foi|foram) (?:encontrad|detectad|localizad)\w+|non ci sono"
    r"|ningun|ningún|nenhum|nessun|sin|sem|senza)(?:[ao]|')?(?: otr[ao]s?)? "
    r"(?:resultad|risultat|registr|coincidencia|correspond|dato|dado|elemento|error|erro|problem"
    r"|conflict|conflit|advertencia|aviso)\w*"
    # Russian.
    r"|\b(?:ошибок|результатов|совпадений|записей|данных|предупреждений|проблем) "
    r"(?:нет|не (?:найден|обнаружен|выявлен|возникл)\w+)"
    r"|\b(?:ничего|записи|данные|результаты|совпадения) не найден[оы]"
    # Chinese, Japanese, Korean.
    r"|(?:未找到|没有找到|未发现|没有发现|未检测到|查无|找不到)(?:任何|相关|匹配|符合条件)?的?"
    r"(?:记录|结果(?!文件)|数据(?![库源表])|匹配项|错误|问题|冲突)"
    r"|(?:(?:該当|一致)(?:する)?(?:データ|結果|項目|件|もの|レコード)|検索結果|エラー|問題|競合)"
    r"[はがも](?:あり|見つかり)ません(?:でした)?"
    r"|(?:오류|문제|검색 결과|일치하는 (?:항목|결과|기록))[가이은는을를]? ?"
    r"(?:없|찾을 수 없|발견되지 않)"
)
"""That a search or a check found nothing, in other languages than English."""
_IN_THE = re.compile(
    r"\b\w+(?:[ai]d|salv)[oa]s? no\b"
    r"|\bno (?:estoque|cartão|sistema|carrinho|cadastro|banco|servidor|arquivo|endereço|momento"
    r"|prazo|pedido|caixa|calendário|perfil|painel|repositório|diretório)\b"
)
"""Portuguese: something was done in the ..., "atualizado no banco", or is there."""


def without_nothing_found(said: str) -> str:
    """The text, in lower case, without what says that a search or a check found nothing."""
    if said.isascii() and not any(cue in said for cue in _NONE_ELSEWHERE_CUES):
        return said
    return _NONE_ELSEWHERE.sub(" ", said)


def without_no_errors(said: str) -> str:
    """The text without what says that there are no errors."""
    return _NO_ERRORS_ELSEWHERE.sub(" ", said)


def without_in_the(said: str) -> str:
    """The text without what only looks like the English "no"."""
    return _IN_THE.sub(" ", said) if " no " in said else said


def refuses_elsewhere(said: str) -> bool:
    """Whether the text refuses by more than a word."""
    if said.isascii() and not any(cue in said for cue in _REFUSED_ELSEWHERE_CUES):
        return False
    return _REFUSED_ELSEWHERE.search(without_no_errors(said)) is not None
