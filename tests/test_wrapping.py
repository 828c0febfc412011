"""Text that ``<br>`` wraps has the lines of the same text without it; poems, addresses and lists keep theirs."""

import re
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.costs import within

from bilingual_crawler.pages.html import parse_page
from bilingual_crawler.pages.wrapping import unbroken

URL = "https://example.org/"
PARAGRAPHS = {
    "English": "Law No. 12/2019 sets the fees of the port. The port has 14 quays and two cranes. Ships pay when they "
    "leave. Under Article 5(2) of Decree No. 340/2001, fishing boats pay nothing.",
    "Portuguese": "A biblioteca abre de segunda a sexta e empresta livros por três semanas. Quem perde um livro "
    "compra outro, e as crianças com menos de dez anos não pagam nada.",
    "German": "Das Büro der Behörde befindet sich im dritten Stock der Augustastraße in Berlin und ist von Montag bis "
    "Freitag geöffnet. Die Sitzung des Rates fand im Mai statt, und die Mitglieder wählten eine Präsidentin.",
    "Russian": "Офис находится на третьем этаже здания и открыт с понедельника по пятницу. Первая сессия совета "
    "состоялась в мае, и члены избрали президента на четыре года.",
    "Arabic": "يقع المكتب في الطابق الثالث من المبنى ويفتح من الاثنين إلى الجمعة. وعقدت الجلسة الأولى للمجلس في شهر "
    "مايو وانتخب الأعضاء رئيسا لمدة أربع سنوات.",
    "Hebrew": "המשרד נמצא בקומה השלישית של הבניין ופתוח מיום שני עד יום שישי. הישיבה הראשונה של המועצה התקיימה במאי "
    "והחברים בחרו נשיא לארבע שנים.",
    "Hindi": "कार्यालय भवन की तीसरी मंजिल पर स्थित है और सोमवार से शुक्रवार तक खुला रहता है। परिषद का पहला सत्र "
    "मई में हुआ और सदस्यों ने चार साल के लिए अध्यक्ष चुना।",
    "Korean": "사무실은 건물 3층에 있으며 월요일부터 금요일까지 문을 엽니다. 평의회의 첫 회의는 5월에 열렸고 "
    "회원들은 4년 임기의 회장을 선출했습니다.",
}
UNSPACED = {
    "Chinese": "办公室位于大楼的三层，星期一至星期五开放。理事会的第一届会议于五月举行，成员选举了一位任期四年的主席，"
    "并通过了下一年度的预算和工作计划。",
    "Japanese": "事務所は建物の三階にあり、月曜日から金曜日まで開いています。評議会の第一回会合は五月に開かれ、"
    "委員たちは任期四年の議長を選出しました。",
    "Thai": "สำนักงานตั้งอยู่บนชั้นสามของอาคารและเปิดทำการตั้งแต่วันจันทร์ถึงวันศุกร์การประชุมสภาครั้งแรกจัดขึ้นในเดือนพฤษภาคม"
    "และสมาชิกได้เลือกประธานวาระสี่ปี",
}


def lines(html: str) -> list[str]:
    return parse_page(html, URL).text.split("\n")


@pytest.mark.parametrize("width", [45, 60, 72])
@pytest.mark.parametrize("language", PARAGRAPHS)
def test_wrapped_text_is_a_paragraph(language: str, width: int) -> None:
    text = PARAGRAPHS[language]
    rows = textwrap.wrap(text, width, break_on_hyphens=False)
    assert len(rows) > 1
    assert lines(f"<p>{'<br>'.join(rows)}</p>") == [text]
    spaced, plain = "<br /> \n ".join(rows), "&nbsp;<br>".join(rows)
    assert lines(f"<p>{spaced}<br><br>{plain}<br>&nbsp;<br>x") == [text, text, "x"]


@pytest.mark.parametrize("language", UNSPACED)
def test_wrapped_text_without_blanks_is_joined_without_blanks(language: str) -> None:
    text = UNSPACED[language]
    rows = [text[start : start + 36] for start in range(0, len(text), 36)]
    assert lines(f"<p>{'<br>'.join(rows)}</p>") == [text]


@pytest.mark.parametrize(
    "marked",
    [
        "We would like to welcome you all to our new website,|where you find all of our products.",
        "<b>The office is on the third floor of the|building</b> and <span>is open on all days of the|week but Sunday"
        "</span>, <font>from nine in the|morning to five.</font>",
        "Die Anmeldung für den Kurs ist bis zum fünfzehnten September im Büro der|Augustastraße möglich.",
        "私たちは地域の皆様とともに、^新しい価値を創造してまいります。",
        "Dieses Gesetz regelt die Verant~wortung der Behörden für die Beauf~sichtigung der Häfen.",
        "Hoje o museu está fechado e na sexta-^feira abre às nove. Na outra sexta-feira também.",
        "Wir nennen hier alle wichtigen Vor-|und Nachteile der Methode.",
    ],
)
def test_a_sentence_goes_on_over_a_break(marked: str) -> None:
    """A break is a blank where it is marked as ``|``, nothing as ``^``, and goes with its hyphen as ``~``."""
    html = marked.replace("|", "<br/>", 1).replace("|", "<br>").replace("^", "<br>").replace("~", "-<br>")
    text = re.sub("<[^>]+>", "", marked).replace("|", " ").replace("^", "").replace("~", "")
    assert lines(f"<p>{html}</p>") == [text]


OTHER_LINES = {
    "Shakespeare": "Shall I compare thee to a summer's day?|Thou art more lovely and more temperate:|"
    "Rough winds do shake the darling buds of May,|And summer's lease hath all too short a date;",
    "Dante": "Nel mezzo del cammin di nostra vita|mi ritrovai per una selva oscura,|ché la diritta via era smarrita.",
    "Bécquer": "Volverán las oscuras golondrinas|en tu balcón sus nidos a colgar,|y otra vez con el ala a sus "
    "cristales|jugando llamarán.",
    "Goethe": "Wer reitet so spät durch Nacht und Wind?|Es ist der Vater mit seinem Kind;|Er hat den Knaben wohl in "
    "dem Arm,|Er fasst ihn sicher, er hält ihn warm.",
    "Baudelaire": "Souvent, pour s'amuser, les hommes d'équipage|Prennent des albatros, vastes oiseaux des mers,|"
    "Qui suivent, indolents compagnons de voyage,|Le navire glissant sur les gouffres amers.",
    "small letters": "so quiet is|the old pond|in the evening sun|that a frog|wakes it",
    "Pushkin": "Я помню чудное мгновенье:|Передо мной явилась ты,|Как мимолетное виденье,",
    "Li Bai": "床前明月光，疑是地上霜。|举头望明月，低头思故乡。",
    "Xu Zhimo": "轻轻的我走了，|正如我轻轻的来；|我轻轻的招手，|作别西天的云彩。",
    "Arabic verse": "على قدر أهل العزم تأتي العزائم|وتأتي على قدر الكرام المكارم|وتعظم في عين الصغير صغارها",
    "Arabic address": "الرياض|شارع الملك فهد|وزارة التربية والتعليم",
    "address": "Museum of Modern Art|11 West 53rd Street|New York, NY 10019|open daily",
    "long address": "Ministerium für Ernährung, Landwirtschaft und Verbraucherschutz des Landes|Postfach 1|30001 Bonn",
    "list": "apples|pears|plums and other fruit|bread",
    "headlines": "Minister opens new hospital in the north of the country|Parliament passes the new law on the "
    "protection of data|Prices rise again in the capital",
    "references": "Smith, J. (2001). A history of the world in ten chapters. London: Press.|Jones, K. (2003). Another "
    "history of the world in nine chapters. Oxford.|Miller, A. (2010). The last history of all.",
    "dash": "Manuel (HTML, plusieurs pages) : manuel sous forme de plusieurs pages HTML|– chaque page est petite.",
    "hours": "Monday to Friday 9 am to 5 pm|closed on Sundays and on public holidays",
    "letter": "Kind regards,|your team at the office",
    "title": "画像検索における多様性計算『第二回報告』|画像検索において、多様な観点に基づいて検索を行います。",
}


@pytest.mark.parametrize("rows", OTHER_LINES.values(), ids=OTHER_LINES)
def test_other_lines_stay_lines(rows: str) -> None:
    assert lines(f"<p>{rows.replace('|', '<br>')}</p>") == rows.split("|")


def test_menus_stay_lines() -> None:
    html = "<a href=a>home</a><br><a href=b>news and other events of the year</a><br><a href=c>contact and imprint</a>"
    assert lines(html) == ["home", "news and other events of the year", "contact and imprint"]


@pytest.mark.parametrize(
    "between", ["<br><br>", "<br>&nbsp;<br>", "<br>&#8203;<br>", "<br><div></div>", "</p><p>", "<br><hr>"]
)
def test_two_breaks_end_a_paragraph(between: str) -> None:
    first = "This is the first paragraph of the text, which is long enough and ends with the"
    assert lines(f"<p>{first}{between}second one, which goes on here.") == [first, "second one, which goes on here."]


def test_code_keeps_its_lines() -> None:
    html = "<pre># Delete the temporary directory and all of its content, which is large<br>rm -rf the-directory.</pre>"
    assert len(lines(html)) == 2


def test_own_text_is_not_joined_with_what_is_around_it() -> None:
    first, second = "The office is on the third floor of the building and is open from", "nine to five."
    assert lines(f"<p>{first}<br><a href=/n>{second}</a>") == [f"{first} {second}"]
    assert lines(f"<p>{first}<br><a rel=next href=/n>{second}</a>") == [first]


def test_the_text_around_a_link_is_its_line() -> None:
    html = "The office is on the third floor of the building and is open from<br>nine to <a href=//b.org/>five</a>."
    [link] = parse_page(html, URL).links
    assert link.around == "nine to five."


row = st.text(st.sampled_from("aéßⓐªIİ 1-,.。国の한صกी\u0301"), min_size=1, max_size=50) | st.text(min_size=1)


@settings(max_examples=300, deadline=None)
@given(st.lists(row.filter(str.strip), min_size=2, max_size=8))
def test_nothing_but_hyphens_is_lost(rows: list[str]) -> None:
    found, first = unbroken(rows, range(1, len(rows)))
    assert len(found) == len(first)
    assert first[0] == 0
    assert re.sub(r"[\s-]", "", "".join(found)) == re.sub(r"[\s-]", "", "".join(rows))


@pytest.mark.parametrize(
    "html",
    [
        "<br>" * 100_000,
        "a<br>" * 100_000,
        "the quick brown fox jumps over the lazy dog and the<br>" * 20_000 + "end.",
        "the quick brown fox jumps over the lazy dogs and hy-<br>" * 20_000 + "end.",
        "国" * 30 + "，<br>" + ("国" * 30 + "，<br>") * 20_000 + "。",
        "x" * 1_000_000 + "<br>" + "a-<br>" * 50_000,
    ],
    ids=["breaks", "rows", "wrapped", "hyphens", "Chinese", "long row"],
)
def test_breaks_take_linear_time(html: str) -> None:
    assert within(3, lambda: parse_page(f"<p>{html}", URL))
