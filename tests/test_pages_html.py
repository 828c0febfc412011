import re
import tracemalloc

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.http import Response
from support.costs import ATTEMPTS, processor_seconds, within

from bilingual_crawler.crawl.middlewares.language import page_job
from bilingual_crawler.pages.formats import FORMATS, ending_of, may_hold
from bilingual_crawler.pages.html import page_of, parse_page, walk_through
from bilingual_crawler.pages.labels import coded_language, flagged_language, named_language
from bilingual_crawler.pages.model import MAX_LINES, MAX_TEXT, MAX_TITLE, Link, LinkPosition, LinkSource
from bilingual_crawler.pages.walk import MAX_ANCHORS

URL = "https://example.org/dir/page.html"
SWITCHER, NAVIGATION = LinkPosition.SWITCHER, LinkPosition.NAVIGATION
BODY, HEAD = LinkPosition.BODY, LinkPosition.HEAD
LANGUAGES = "<option value=en>English<option value=es>Español"
LIST = f"<select name=lang>{LANGUAGES}</select>"
MARKS = {
    "address in Docusaurus": "<h2>Title<a class=hash-link href=#t title='Direct link'>&#8203;</a></h2>",
    "address in VitePress": "<h2 id=t>Title <a class=header-anchor href=#t>\u200b</a></h2>",
    "address in VuePress": "<h2 id=t><a class=header-anchor href=#t>#</a> Title</h2>",
    "address in Sphinx": "<section id=t><h2>Title<a class=headerlink href=#t>¶</a></h2></section>",
    "address in Sphinx, icon font": "<h2>Title<a class=headerlink href=#t>\uf0c1</a></h2>",
    "address in Sphinx, caption": "<p><span>Title</span><a class=headerlink href=#i>¶</a></p>",
    "address in Sphinx, definition": "<dl><dt id=f>Title<a href=#f>¶</a></dt></dl>",
    "address in MkDocs": "<h2 id=t>Title<a class=headerlink href='/p/page.html#t'>&para;</a></h2>",
    "address in GitHub": "<h2><a class=anchor href=#t><svg></svg></a>Title</h2>",
    "address in rustdoc": "<h2 id=t><a class=doc-anchor href=#t>§</a>Title</h2>",
    "address in Doxygen": "<h2><span class=permalink><a href=#t>◆&nbsp;</a></span>Title</h2>",
    "address in Hugo, in words": "<h2 id=a%20b>Title <a href='#a%2520b'><i></i><b>Link here</b></a> </h2>",
    "address in mdBook, the title itself": "<h1 id=t><a class=header href=#t>Title</a></h1>",
    "address in AsciiDoctor, the title itself": "<h2 id=t><a href=#t></a><a href=#t>Title</a></h2>",
    "way back from a footnote": "<p>Title <a href=#ref1>↩︎</a></p>",
    "edit link of MediaWiki": "<h2><span class=mw-headline>Title</span><span class=mw-editsection><span>[</span>"
    "<a href=/w>edit</a><span> | </span><a href=/x>edit source</a><span>]</span></span></h2>",
    "edit link of MediaWiki before 1.20": "<h2><span class=editsection>[<a href=/w>edit</a>]</span> Title</h2>",
    "edit link of DokuWiki": "<h2>Title</h2><div class='secedit editbutton_section'><form><button>Edit</button></form>"
    "</div>",
    "edit link of MoinMoin": "<ul class=editbar><li><a href=/e>Edit (Text)</a><li>Info</ul><h1>Title</h1>",
    "edit link of Docusaurus": "<p>Title</p><a href=/e class=theme-edit-this-page>Edit this page</a>",
    "edit link of VitePress": "<p>Title</p><div class=edit-link><a href=/e>Edit this page</a></div>",
    "edit link of Read the Docs": "<ul><li class=wy-breadcrumbs-aside><a href=/e>Edit on GitHub</a></ul>Title",
    "edit link of Furo": "<div class=edit-this-page><a href=/e>Edit this page</a></div>Title",
    "edit link of pydata-sphinx-theme": "<div class='tocsection editthispage'><a href=/e>Edit</a></div>Title",
    "note in Cite": "<p>Title<sup class=reference><a href=#n7><span>[</span>7<span>]</span></a></sup>",
    "note in Cite, a group": "<p>Title<sup class=reference><a href=#n7>[note 7]</a></sup>",
    "note in Cite, between two": "<p>Title<sup class='reference cite_virgule'>,</sup>",
    "citation needed": "<p>Title<sup class='noprint Template-Fact'>[<i><a href=/c>citation needed</a></i>]</sup>",
    "note in Sphinx": "<p>Title<a class='footnote-reference brackets' href=#id2><span>[</span>1</a>",
    "note in pandoc": "<p>Title<a href=#fn1 class=footnote-ref role=doc-noteref><sup>1</sup></a>",
    "note in kramdown": "<p>Title<sup id=fnref:1><a href=#fn:1 role=doc-noteref>1</a></sup>",
    "note in markdown-it": "<p>Title<sup class=footnote-ref><a href=#fn1>[1:2]</a></sup>",
    "note in GitHub": "<p>Title<sup><a href=#user-content-fn-1 data-footnote-ref>1</a></sup>",
    "note in AsciiDoctor": "<p>Title<sup class=footnote>[<a href=#_footnotedef_1>1</a>]</sup>",
    "note in DokuWiki": "<p>Title<sup><a href=#fn__1 class=fn_top>1)</a></sup>",
    "note in Word": "<p>Title<a href=#_ftn1><span class=MsoFootnoteReference>[1]</span></a>",
    "asterisk": "<p>Title <a href='page.html#n'><sup>*</sup></a>",
    "two notes": "<p>Title<sup>[<a href=#a>1</a>, <a href=#b>2</a>]</sup>",
    "backlink": "<p><span class=mw-cite-backlink><a href=#r>^</a> <sup><i>a</i></sup></span> Title",
}
"""What generators add to a title, by what it is."""
FORMULAS = {
    "KaTeX": "<span class=katex><span class=katex-mathml><math><semantics>{}<annotation encoding='x-tex'>"
    "x^2</annotation></semantics></math></span><span class=katex-html aria-hidden=true>x2</span></span>",
    "KaTeX without MathML": "<span class=katex><span class=katex-html>x2</span></span>",
    "MathJax 2": "<span class=MathJax_Preview>x^2</span><span class=MathJax><nobr aria-hidden=true><span>x</span>"
    "<span>2</span></nobr><span class=MJX_Assistive_MathML><math>{}</math></span></span>"
    "<script type='math/tex'>x^2</script>",
    "MathJax 2, SVG": "<span><svg><text>x2</text></svg><span class=MJX_Assistive_MathML><math>{}</math></span></span>",
    "MathJax 3": "<mjx-container><mjx-math><mjx-mi><mjx-c></mjx-c></mjx-mi></mjx-math><mjx-assistive-mml><math>"
    "{}</math></mjx-assistive-mml></mjx-container>",
    "MathJax with text": "<mjx-container><mjx-math><mjx-mi>x</mjx-mi><mjx-mn>2</mjx-mn></mjx-math><mjx-assistive-mml>"
    "<math>{}</math></mjx-assistive-mml></mjx-container>",
    "MediaWiki": "<span class=mwe-math-element><span class='mwe-math-mathml-inline mwe-math-mathml-a11y' "
    "style='display: none;'><math>{}</math></span><img class=mwe-math-fallback-image-inline src=x.svg "
    "alt='{{\\displaystyle x^{{2}}}}'></span>",
}
"""One formula as programs write it, some around MathML."""


def links(html: str, *headers: str) -> dict[str, Link]:
    return {link.url.removeprefix("https://example.org"): link for link in parse_page(html, URL, headers).links}


def only(html: str, *headers: str) -> Link:
    (link,) = parse_page(html, URL, headers).links
    return link


class TestText:
    def test_children_of_a_flex_or_grid_element_are_apart(self) -> None:
        html = """<li><a href="/a" style="top:0; display:flex"><span>25 novembre 2018</span><span>N<b>ov</b></span></a>
            <li><span style="display: inline-grid">one<i>two</i>three</span><li style="flex:1"><b>w</b>ord"""
        page = parse_page(html, URL)
        assert page.text == "25 novembre 2018 Nov\none two three\nword"
        assert [link.text for link in page.links] == ["25 novembre 2018 Nov"]

    @pytest.mark.parametrize(
        ("html", "text"),
        [
            ("in <st1:City><st1:place>Valletta</st1:place></st1:City> today<o:p></o:p>.", "in Valletta today."),
            ('of <meta itemprop="name" content="x"><link itemprop="url" href="/x">Malta.', "of Malta."),
            ("up <output>5</output> or <meter>6</meter> points", "up 5 or 6 points"),
            ("so <math><semantics><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow><annotation "
             'encoding="application/x-tex">x^{2}</annotation></semantics></math> grows', "so x2 grows"),
            ('so <span style="display: none"><div>x<p>y</div></span> grows', "so grows"),
            ("so <div hidden>x<br>y</div> grows<noscript><p>z</p></noscript> up", "so grows up"),
            ("so<div hidden>x</div>it grows", "so it grows"),
            ("so <x-tip>it <b>also</b></x-tip>, <x-icon></x-icon> grows", "so it also, grows"),
            ("so <mjx-box><mjx-math><mjx-c></mjx-c></mjx-math><math><mi>x</mi></math></mjx-box> grows", "so x grows"),
            ("<x-card>so</x-card><x-card>it</x-card> <x-card>grows</x-card>", "so\nit\ngrows"),
            ("so <x-card><p>it</p></x-card> grows", "so\nit\ngrows"),
            ('Call<span class="material-symbols-outlined big"> zoom_in </span>us', "Call us"),
            ('<mat-icon class="mat-icon material-icons">home</mat-icon>At home', "At home"),
            ('Log in<span class="visually-hidden">(active tab)</span>', "Log in"),
            ('<a href=/x>Log in<span class="b sr-only">Members</span>here</a>', "Log in here"),
            ('<i class="material-icons-list">Paper</i> and <i>wood</i>', "Paper and wood"),
        ],
    )  # fmt: skip
    def test_what_browsers_show_in_one_line_is_one(self, html: str, text: str) -> None:
        assert parse_page(f"<p>before<div>{html}</div>after", URL).text == f"before\n{text}\nafter"

    @pytest.mark.parametrize("names", ["sr-only", "x visually-hidden", "screen-reader-text", "element-invisible y"])
    def test_what_is_for_screen_readers_alone_cuts_no_sentence(self, names: str) -> None:
        page = parse_page(f"<p>See <a href=a>this<span class='{names}'> (new tab)</span></a> too.", URL)
        assert page.text == "See this too."
        assert page.links[0].text == "this (new tab)"

    @pytest.mark.parametrize(
        "ruby",
        [
            "<ruby>日本語<rp>(</rp><rt>にほんご</rt><rp>)</rp></ruby>", "<ruby>日本<rt>にほん</rt>語<rt>ご</rt></ruby>",
            "<ruby><rb>日本語</rb><rt>にほんご<rtc><rt>Japanese</rt></rtc></ruby>",
        ],
    )  # fmt: skip
    def test_pronunciations_are_no_text(self, ruby: str) -> None:
        page = parse_page(f"<p>やさしい{ruby}です</p><a href=/ja/>{ruby}</a>", URL)
        assert page.text == "やさしい日本語です"
        assert [(link.text, link.label) for link in page.links] == [("日本語", "jpn")]

    def test_what_is_hidden_has_no_part_in_the_text_around_a_link(self) -> None:
        html = "<div>One <a href=https://other.org/>two</a> <span hidden><div>x</div></span> three"
        assert only(html).around == "One two three"

    @pytest.mark.parametrize("marked", MARKS.values(), ids=MARKS)
    def test_marks_of_generators_are_no_text(self, marked: str) -> None:
        page = parse_page(f"<p>before</p>{marked}<p>after</p>", URL)
        assert page.text == "before\nTitle\nafter"

    def test_dialogs_and_popovers_are_no_text_before_they_are_open(self) -> None:
        for html, lines in (
            ("<p>yes</p><dialog><p>no</dialog>", ["yes"]),
            ("<p>yes</p><dialog open><p>too</dialog>", ["yes", "too"]),
            ("<p>yes</p><div popover><p>no</div><div popover=manual>no</div>", ["yes"]),
        ):
            assert walk_through(html).lines == lines

    @pytest.mark.parametrize("formula", FORMULAS.values(), ids=FORMULAS)
    def test_formulas_are_text_once(self, formula: str) -> None:
        shown = formula.format("<msup><mi>x</mi><mn>2</mn></msup>")
        assert parse_page(f"<p>so {shown} grows", URL).text == "so x2 grows"

    def test_a_head_with_a_noscript_element_is_read_to_its_end(self) -> None:
        html = (
            "<html lang=is><head><noscript><meta http-equiv=refresh content='0; url=/plain'><p>no</p></noscript>"
            "<title>T</title><meta name=robots content=nofollow><link rel=alternate hreflang=en href=/en></head>"
            "<body class=x lang=is><p>yes"
        )
        page = parse_page(html, URL)
        assert (page.title, page.text, page.declared, page.nofollow) == ("T", "yes", ("isl", "isl"), True)
        assert [link.url for link in page.links] == ["https://example.org/plain", "https://example.org/en"]

    @pytest.mark.parametrize(
        ("html", "texts"),
        [
            ("<title>Cafe\u0301</title><p>e\ufb03cient <a href=a>\ufefb</a><p>cafe\u0301</p>",
             ("Café", "efficient لا\ncafé", "لا")),
            ("<title>Tom &amp;amp; Ana</title><p>un caf&amp;eacute; &amp;ndash; 10&amp;nbsp;km <a href=a>t&amp;#250;",
             ("Tom & Ana", "un café – 10 km tú", "tú")),
        ],
    )  # fmt: skip
    def test_letters_have_one_form_and_entities_may_be_escaped_twice(self, html: str, texts: tuple[str, ...]) -> None:
        page = parse_page(html, URL)
        assert (page.title, page.text, page.links[0].text) == texts

    @pytest.mark.parametrize(
        "html",
        ["<p>write &amp;eacute; for it", "<p>caf&amp;eacute; is in HTML <code>caf&amp;eacute;</code>", "<p>x&amp;lt;y"],
    )
    def test_entities_that_a_page_writes_about_stay(self, html: str) -> None:
        assert "&" in parse_page(html, URL).text
        assert "é" not in parse_page(html, URL).text

    @pytest.mark.parametrize(
        ("html", "text"),
        [
            # blocks by their name or style are lines, and paragraphs of preformatted text; blanks collapse
            ("<title>T</title><h1>One\n  two</h1><p>three <b>four</b>\xa0five<br>six<ul><li>a<li>b</ul><td>",
             "One two\nthree four five\nsix\na\nb"),
            ("<pre>\n\nTitle\n \nOne line\nand <b>the\n\t\r\n\nnext</b> two\n\n</pre>and\n\nmore",
             "Title\nOne line and the\nnext two\nand more"),
            ("<p><a href=a>one</a><p>(<a href=b>two</a>)", "one\n(two)"),
            # a line of the source may end anywhere in Chinese and Japanese
            ("<p>任何一个邮 \n  件，\n就是\n<b>这\n样</b>\nHTML\n也 好", "任何一个邮件，就是这样 HTML 也 好"),
            ("<p>日本語の\nテキスト<p>한국어\n텍스트<p>ภาษา\nไทย", "日本語のテキスト\n한국어 텍스트\nภาษา ไทย"),
            ("<h1>Oil<span style='color: red; display:block'>Olioa</span></h1>", "Oil\nOlioa"),
            ("<a href=a><b style='DISPLAY: flex;'>one</b>two</a>", "one\ntwo"),
            ("o<span style='display:inline-block'>ne</span>", "one"),
            ("o<span style='--display:block;display:table-cell'>ne</span>", "one"),
            ("<span style='float:left;display:block'>O</span>ne", "One"),
            ("<pre><span style='display:flex'>x = 1\n</span><span style='display:flex'>y = 2</span></pre>",
             "x = 1 y = 2"),
            # what is shown later is no text
            ("<html><head><title>x</title><noscript><p>no <a href=/n>n</a></noscript></head><body><p>yes", "yes"),
            ("<HEAD><NOSCRIPT><img src=x>no</NOSCRIPT><title>x</title></HEAD><BODY><p>yes", "yes"),
            ("<head></head><body><p>yes<noscript>no</noscript>", "yes"),
            ("<p>yes<noscript><p><b>no</noscript> too</p><noscript><div>no</noscript><p>and more", "yes too\nand more"),
            ("<details><summary>yes</summary><p>too</details>", "yes\ntoo"),
            # declared shadow trees are shown
            ("<x-a><template shadowrootmode=open><h2>In</h2><p>side</p></template></x-a>", "In\nside"),
            ("<div><template shadowrootmode='closed'><p>In</p></template><p>light</p></div>", "In\nlight"),
            ("<x-a><template id=x shadowrootmode=\"open\"><p>In <slot>no</slot></p></template>up</x-a>", "In\nup"),
            ("<x-a><template shadowrootmode=open>In <slot>place</slot></template></x-a>", "In place"),
            ("<x-a><template shadowrootmode=open>In <slot>no</slot></template> </x-a>", "In"),
            ("<x-a><template shadowrootmode=open><template>no</template>In</template></x-a>", "In"),
            ("<template><x-a><template shadowrootmode=open>no</template></x-a></template>yes", "yes"),
            ("<x-a><template shadowrootmode=open><x-b><template shadowrootmode=open>In</template></x-b>side</template>",
             "In\nside"),
            ("<p>one <x-a><template shadowrootmode=open><b>two</b></template></x-a> three", "one two three"),
            ("<x-a><template shadowroot=open>no</template>yes</x-a>", "yes"),
            ("yes</template></template><template shadowrootmode=open>too", "yes\ntoo"),
            # raised text, links into the page and others that only look like marks or hidden
            ("<p>10<sup>2</sup> m<sup>2</sup>, the 3<sup>rd</sup>", "102 m2, the 3rd"),
            ("<p>x<sup><a href=/power>2</a></sup>", "x2"),
            ("<p>a<sup><a href=#b>registered name</a></sup>", "aregistered name"),
            ("<p>verse <sup><a href=#v1>" + "1<b></b>" * 20 + "</a></sup>", "verse " + "1" * 20),
            ("<p>see <a class='reference internal' href=#usage>Usage</a>", "see Usage"),
            ("<p>press the <a href=#b>*</a> button", "press the * button"),
            ("<h2>The operator <a href=#b>?=</a> and others", "The operator ?= and others"),
            ("<h2 id=t>See <a href=#other>another part</a>", "See another part"),
            ("<h2 id=t>Title</h2><p>more on the <a href=#t>title</a>", "Title\nmore on the title"),
            ("<li><a href=#b>||</a> is or", "|| is or"),
            ("<p>C <a href=c>#</a>", "C #"),
            # no blank stays before a sign that follows a mark
            ("<p>The screen <sup><a href=#a>[a]</a></sup>; then <a href=#a><sup>[a]</sup></a> the next "
             "<a href=#a><sup>[a]</sup></a>.", "The screen; then the next."),
            ("<p>See <span class='sr-only md:not-sr-only'>this</span>", "See this"),
            ("<body style='display:none'><p>yes", "yes"),
            # adjacent elements are words of their own
            ("<p><a href=a>Heim</a><a href=b>Um</a> vef<a href=c>inn</a>", "Heim Um vefinn"),
            ("<p>is<em>lensk</em>ur <span>mat</span>ur", "islenskur matur"),
            ("<p><span>Soft drinks</span><span>Freskagarriak</span>", "Soft drinks Freskagarriak"),
            ("<p><b>Last</b><span><i>Updated today</i></span>", "Last Updated today"),
            ("<p><a href=a><strong>18</strong><span>Product families</span></a>", "18 Product families"),
            ("<p><button>all</button><button>new</button>", "all new"),
            ("<p><label>name<input></label><label>mail<input></label>", "name mail"),
            ("<p><time>5/30/2024</time><time>11/6/2024</time>", "5/30/2024 11/6/2024"),
            ("<p><span>Face</span><span>Book</span> and <b>You</b><i>Tube</i>", "FaceBook and YouTube"),
            ("<p>an <b>i</b><span>Phone for all</span>", "an iPhone for all"),
            ("<p><b>lib</b><i>foo and bar</i>", "libfoo and bar"),
            ("<p>the Mac<span>Donald farm</span>", "the MacDonald farm"),
            ("<p><i>a b</i><sub>Cd</sub>", "a bCd"),
            ("<p><span>free shipping</span><span>on all orders</span>", "free shipping on all orders"),
            ("<p><span>price</span><span>5 €</span>", "price 5 €"),
            ("<p><span>15</span><span>km from here</span>", "15 km from here"),
            ("<p><span><a href=a>May 5, 2017</a></span><span>by <a href=b>Ann</a></span><span>9</span>",
             "May 5, 2017 by Ann 9"),
            ("<p><span>Free shipping!</span><span>on all orders</span>", "Free shipping! on all orders"),
            ("<p><span>شحن مجاني</span><span>على كل الطلبات</span>", "شحن مجاني على كل الطلبات"),
            ("<p><span>משלוח חינם</span><span>על כל ההזמנות</span>", "משלוח חינם על כל ההזמנות"),
            ("<p><span>मुफ़्त डिलीवरी</span><span>सभी ऑर्डर पर</span>", "मुफ़्त डिलीवरी सभी ऑर्डर पर"),
            ("<p><span>უფასო მიწოდება</span><span>ყველა შეკვეთაზე</span>", "უფასო მიწოდება ყველა შეკვეთაზე"),
            ("<p><span>무료 배송</span><span>모든 주문</span>", "무료 배송 모든 주문"),
            ("<p><b>H</b><sub>2</sub>O", "H2O"),
            ("<p><span>h</span><span>e</span><span>l</span><span>l</span><span>o</span>", "hello"),
            ("<p><span class=cap>O</span><span>nce upon a time</span>", "Once upon a time"),
            ("<p><span>The two dog</span><span>s</span>", "The two dogs"),
            ("<p><ruby>東京<rt>とうきょう</rt></ruby><span>都 です</span>", "東京都 です"),
            ("<p><span>東京 大阪</span><span>府</span>", "東京 大阪府"),
            ("<p><span style='color: red'>The quick bro</span><span style='color: blue'>wn fox</span>",
             "The quick brown fox"),
            ("<p><span class=c1>The quick bro</span><span class='c2 c10'>wn fox</span>", "The quick brown fox"),
            ("<p><span lang=ko>한국 문화</span><span lang=ko>를 소개</span>", "한국 문화를 소개"),
        ],
    )  # fmt: skip
    def test_what_a_browser_shows_is_text(self, html: str, text: str) -> None:
        assert parse_page(html, URL).text == text

    def test_what_is_not_shown_is_nowhere(self) -> None:
        dirt = "\u200b&shy;\x02\x9b&#x202e;\u2066\ufdd0&#xfeff;"
        html = (
            f"<title>Ti{dirt}tle</title><p>te{dirt}xt</p><p>{dirt}</p><a href=a>li{dirt}nk</a><img alt=x>"
            f"<a href=b title='na{dirt}me'></a><a href=c><img alt='im{dirt}age'></a>"
            f"<map><area href=d alt='ar{dirt}ea'></map>"
            f"<select><option value=/en/>Eng{dirt}lish<option value=/es/>Español</select>"
        )
        page = parse_page(html, URL)
        assert (page.title, page.text) == ("Title", "text\nlink")
        assert [link.text for link in page.links] == ["link", "name", "", "area", "English", "Español"]
        assert page.links[4].label == "eng"

    @pytest.mark.parametrize(
        "hidden",
        [
            "<script>var x = 'no'</script>", "<style>no {}</style>", "<template><p>no</template>", "<p hidden>no</p>",
            "<noscript>no</noscript>", "<div style='color:red; display : none'>no <b>no</b></div>", "<!-- no -->",
            "<div style='visibility:hidden'>no</div>", "<select><option>no</select>", "<textarea>no</textarea>",
            "<svg><title>no</title><text>no</text></svg>", "<iframe src=x>no</iframe>",
        ],
    )  # fmt: skip
    def test_what_is_not_shown_is_no_text(self, hidden: str) -> None:
        assert parse_page(f"<body>yes{hidden}<p>too", URL).text == "yes\ntoo"

    def test_the_title_is_apart(self) -> None:
        page = parse_page("<title> Ein \n síða &amp; fleira</title><svg><title>icon</title></svg><p>text", URL)
        assert (page.title, page.text) == ("Ein síða & fleira", "text")

    def test_every_field_is_bounded(self) -> None:
        """Whatever a page makes long, but for the links that a page may have: their number is the limit."""
        assert parse_page("<p>x" * (MAX_LINES + 9), URL).text.count("\n") == MAX_LINES - 1
        assert len(parse_page(f"<p>{'x' * (MAX_TEXT + 9)}", URL).text) == MAX_TEXT
        long = "word é " * 1000
        names = ("href", "hreflang", "rel", "lang", "title", "alt", "class", "id", "content", "value", "src", "type")
        attributes = " ".join(f'{name}="{long}"' for name in names)
        html = (
            f"<html lang='{long}'><title>{100 * long}</title><base href='{long}'><meta name=robots content='{long}'>"
            f"<meta name=description content='{long}'><script type='application/ld+json'>\"{long}\"</script>"
            f"<link rel=alternate hreflang='{long}' href=/x><link rel=alternate hreflang=es href='/{long}'>"
            f"<h1 {attributes}>{long}</h1><nav><a {attributes}>{long}</a><a href=/es/ hreflang='{long}' lang='{long}'"
            f" title='{long}' class='{long}'>{long}<img alt='{long}' title='{long}' src='{long}'></a>"
            f"<a href=https://b.example/ aria-label='{long}'>{long}</a><area href=/a alt='{long}'>"
            f"<select><option value=/en/>{long}<option value='/{long}'>English</select></nav>"
        )
        headers = (f'<{long}>; rel=alternate; hreflang="{long}"', f"</h>; rel=alternate; hreflang={long}")
        page = parse_page(html, URL, headers)
        assert len(page.title) <= MAX_TITLE
        assert len(page.text) <= MAX_TEXT
        assert {"/es/", "/a"} <= {link.url.removeprefix("https://example.org") for link in page.links}
        assert len(repr(msgspec.structs.replace(page, text=""))) < MAX_TITLE + 1000 * (len(page.links) + 1)

    def test_what_is_long_does_not_stay_in_memory(self) -> None:
        """Caches of a helper process outlive the page."""
        html = "<a class='{0}' lang='{0}' href=/x><img alt='{0}' src='{0}.png'></a>"
        tracemalloc.start()
        for number in range(100):
            parse_page(html.format(f"{number} " + "x " * 10_000), URL)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 2_500_000


class TestHead:
    def test_language_and_robots(self) -> None:
        for html, found in (
            ("<html lang=is-IS><meta name=ROBOTS content='noindex, NOFOLLOW'>", (("isl",), "noindex", True)),
            ("<meta name=robots content=none>", ((), "noindex", True)),
            ("", ((), None, False)),
        ):
            page = parse_page(html, URL)
            assert (page.declared, page.objection, page.nofollow) == found, html
            assert (page.title, page.text, page.links) == ("", "", ()), html

    @pytest.mark.parametrize(
        "html",
        [
            "<html lang=se>", "<html xml:lang=se>", "<body lang=se>", "<main lang=se>", "<div role=main lang=se>",
            "<meta http-equiv=Content-Language content=se>", "<meta property=og:locale content=se_NO>",
            "<meta name=dc.language content=se>",
            """<script type=application/ld+json>{"@type": "WebPage", "inLanguage": "se"}</script>""",
        ],
    )  # fmt: skip
    def test_a_page_declares_its_language(self, html: str) -> None:
        assert parse_page(f"{html}<p>text", URL).declared == ("sme",)

    def test_first_base_counts_for_all_links_but_an_unusable_one_is_ignored(self) -> None:
        found = links("<a href=x>x</a><base href='/other/'><base href='/third/'><a href='y?a=1&amp;b=2'>y</a>")
        assert list(found) == ["/other/x", "/other/y?a=1&b=2"]
        assert list(links("<base href='javascript:x'><a href=x>x</a>")) == ["/dir/x"]


class TestSources:
    def test_kinds_of_links(self) -> None:
        html = """
        <link rel=alternate hreflang=is href=/is/><link rel="alternate nofollow" hreflang=x-default href=/default>
        <meta http-equiv=Refresh content="5; URL='next.html'">
        <a href=a>A</a><map><area href=area alt="Kort"></map><noscript><a href=ns>N</a></noscript>"""
        headers = '</mt/>; rel="alternate"; hreflang="mt", </s.css>; rel=preload', "<x>; rel=next; hreflang=en"
        found = links(html, *headers)
        assert {path: link.source.value for path, link in found.items()} == {
            "/is/": "alternate", "/default": "alternate", "/dir/next.html": "refresh", "/dir/a": "a",
            "/dir/area": "area", "/dir/ns": "a", "/mt/": "header", "/dir/x": "link",
        }  # fmt: skip
        url = "https://example.org/is/"
        assert found["/is/"] == Link(url, "", LinkSource.ALTERNATE, HEAD, hreflang="isl", alternate=True)
        assert found["/default"].hreflang == "x-default"
        assert found["/mt/"].hreflang == "mlt"
        assert found["/dir/area"].text == "Kort"

    @pytest.mark.parametrize(
        ("html", "source"),
        [
            ("<frameset><frame src=/is/></frameset>", LinkSource.FRAME),
            ("<iframe src=/is/></iframe>", LinkSource.EMBED),
            ("<p>text<iframe src=about:blank data-src=/is/ title=Kort></iframe>", LinkSource.EMBED),
            ("<object data=/is/ type=TEXT/HTML></object>", LinkSource.EMBED),
            ("<embed src=/is/>", LinkSource.EMBED),
        ],
    )
    def test_frames(self, html: str, source: LinkSource) -> None:
        link = only(html)
        assert (link.url, link.source) == ("https://example.org/is/", source)

    def test_a_pdf_inside_a_page_is_a_link(self) -> None:
        html = "<embed src=/is.pdf type=application/pdf><object data=/mt.pdf type=application/pdf></object>"
        page = page_of(walk_through(html), URL, formats=frozenset(FORMATS))
        assert [link.url for link in page.links] == ["https://example.org/is.pdf", "https://example.org/mt.pdf"]

    def test_a_page_of_another_site_inside_this_one_is_no_link(self) -> None:
        html = "<iframe src=https://video.example.net/v></iframe><iframe src=https://www.example.org/is/></iframe>"
        assert only(html).url == "https://www.example.org/is/"

    @pytest.mark.parametrize(
        "html",
        [
            "<svg><a href=/is/><text>Íslenska</text></a></svg>",
            "<svg><g><a xlink:href=/is/><title>Íslenska</title></a></g></svg>",
            """<a href="javascript:location.href='/is/'">Íslenska</a>""",
            """<a href="javascript:void(location.href=%27/is/%27)">Íslenska</a>""",
            """<map><area href="JavaScript:window.open('/is/')" alt=Íslenska></map>""",
            """<a href=# onclick="MM_openBrWindow('/is/','x','');return false">Íslenska</a>""",
            """<a href="javascript:;" onclick="MM_goToURL('parent','/is/')">Íslenska</a>""",
            """<a href=# onmousedown="location='/is/'">Íslenska</a>""",
            """<div ondblclick="location='/is/'">Íslenska</div>""",
            "<span data-href=/is/ class=lang-link>Íslenska</span>", "<button data-url=/is/><img alt=Íslenska></button>",
            "<a href=# data-link=/is/>Íslenska</a>", "<select><option data-url=/is/>Íslenska</option></select>",
            "<table><tr><td data-href=/is/>Verð</td></table>",
        ],
    )  # fmt: skip
    def test_links_that_only_browsers_know(self, html: str) -> None:
        assert [link.url for link in parse_page(html, URL).links] == ["https://example.org/is/"]

    @pytest.mark.parametrize("relation", ["next", "prev", "PREV", "contents", "up home"])
    def test_pages_around_this_one(self, relation: str) -> None:
        link = only(f"<link rel='{relation}' href=/is/>")
        assert (link.source, link.position, link.alternate) == (LinkSource.LINK, HEAD, False)

    @pytest.mark.parametrize(
        ("attributes", "language"),
        [
            ("rel=alternate hreflang='es-ES, es-MX'", "spa"), ("rel=alternate hreflang='x-default en-GB'", "eng"),
            ("rel=alternate hreflang='x-default, xx'", "x-default"), ("rel=alternate lang=es", "spa"),
            ("hreflang=es", "spa"),
        ],
    )  # fmt: skip
    def test_loose_alternates(self, attributes: str, language: str) -> None:
        link = only(f"<link {attributes} href=/is/>")
        assert (link.alternate, link.hreflang) == (True, language)

    @pytest.mark.parametrize(
        ("code", "language"),
        [
            ("cz", "ces"), ("cz-CZ", "ces"), ("JP", "jpn"), ("kr", "kor"), ("gr", "ell"), ("xx", None),
            ("english", None), ("ge", "kat"), ("ge-GE", "kat"), ("am-AM", "hye"), ("am", "amh"), ("am-ET", "amh"),
        ],
    )  # fmt: skip
    def test_alternates_with_codes_of_countries_or_of_nothing_are_links(self, code: str, language: str | None) -> None:
        html = f"<link rel=alternate hreflang={code} href=/other/>"
        header = f"</other/>; rel=alternate; hreflang={code}"
        for link in (only(html), only("", header)):
            assert link.url == "https://example.org/other/"
            assert (link.hreflang, link.announces) == (language, language is not None)

    @pytest.mark.parametrize(
        "html",
        [
            # data for scripts
            "<div data-url=/share/>Share</div>", "<div data-href='' data-url=/cart/>Cart</div>",
            "<div data-url=/is/>" + "<b>x</b>" * 20 + "Íslenska</div>",
            "<object data=/player type=application/x-shockwave-flash></object>",
            "<a href=\"javascript:go('/is/')\">Íslenska</a>",
            "<link rel=shortlink href=/?p=7><link rel=search href=/search>",
            "<select><option data-url=/a/>Red</option><option data-url=/b/>Blue</option></select>",
            # what leads nowhere, or to no page
            "<link rel=alternate href=/feed type=application/rss+xml>",
            "<link rel=alternate hreflang=en type=application/atom+xml href=/feed>",
            "<link rel=alternate media=handheld href=/m/>",
            "<link rel=alternate hreflang=nonsense! href=/m/>",
            "<link rel=stylesheet hreflang=en href=/m/>",
            "<link rel=alternate hreflang=en>",
            "<a>none</a><a href>none</a><a href='  '>none</a><a name=x>x</a>",
            "<a href='#top'>top</a><a href='page.html'>self</a><a href='page.html#x'>self</a>",
            "<a href='mailto:a@example.org'>m</a><a href='JavaScript:void(0)'>j</a><a href='tel:1'>t</a>",
            "<a href=x.pdf>p</a><a href='x.JPG?size=1'>i</a><a href=a.tar.gz>z</a>",
            "<template><a href=x>x</a></template><script>'<a href=x>x</a>'</script><!-- <a href=x>x</a> -->",
            "<meta http-equiv=refresh content=30>",
        ],
    )  # fmt: skip
    def test_no_links(self, html: str) -> None:
        assert parse_page(html, URL).links == ()

    def test_evidence(self) -> None:
        link = only(
            "<a href='/is/' hreflang=is-IS rel='nofollow alternate' title=Heim>"
            "<span lang=is>Íslenskur  <b>texti</b></span> <img src='/img/mynd.png?x' alt='Mynd'></a>"
        )
        assert link == Link("https://example.org/is/", "Íslenskur texti", LinkSource.A, BODY, "isl", "isl", True, True)

    def test_the_text_of_a_link_may_be_a_label_or_hidden_and_is_bounded(self) -> None:
        assert only("<a href=x aria-label='Read more'></a>").text == "Read more"
        assert only("<div style='display:none'><a href=x>Falið</a></div>").text == "Falið"
        assert len(only(f"<a href=x>{'orð ' * 1000}</a>").text) == 200


class TestMerging:
    def test_one_link_for_each_url_in_order(self) -> None:
        found = links("<a href=b>1</a><a href='./a#x'>2</a><a href='b'>3</a>")
        assert {path: link.text for path, link in found.items()} == {"/dir/b": "1", "/dir/a": "2"}

    def test_best_evidence_is_kept(self) -> None:
        link = only(
            "<link rel=alternate hreflang=x-default href=/is><link rel=alternate hreflang=is href=/is>"
            "<nav><a href=/is rel=nofollow><img alt=Logo></a></nav><p><a href=/is>Lesa meira</a>"
            "<ul class=lang-menu><li><a href=/is lang=is>Íslenska</a></ul>"
        )
        assert (link.source, link.position, link.text) == (LinkSource.A, SWITCHER, "Íslenska")
        assert (link.hreflang, link.lang, link.label) == ("isl", "isl", "isl")
        assert (link.alternate, link.nofollow) == (True, False)


class TestPositions:
    @pytest.mark.parametrize(
        ("html", "position"),
        [
            ("<nav>{}</nav>", NAVIGATION), ("<header>{}</header>", NAVIGATION),
            ("<footer><div>{}</div></footer>", NAVIGATION), ("<article><header>{}</header></article>", BODY),
            ("<div role=navigation>{}</div>", NAVIGATION), ("<div class='site-header x'>{}</div>", NAVIGATION),
            ("<div class=entry-header>{}</div>", BODY), ("<ul id=mainMenu>{}</ul>", NAVIGATION),
            ("<nav></nav>{}", BODY), ("<main><p>{}</main>", BODY), ("<body class='has-nav language-en'>{}", BODY),
            ("<pre class=language-python>{}</pre>", BODY), ("<div class=lang_switch>{}</div>", SWITCHER),
            ("<div id=wpml-ls>{}</div>", SWITCHER), ("<ul class=hizkuntza>{}</ul>", SWITCHER),
            ("<div class=language>" + "Long text about languages. " * 20 + "{}</div>", BODY),
            ("<div class=language>{}" + "".join(f"<a href={i}>n</a>" for i in range(20)) + "</div>", BODY),
            ("<a class=nav-link href=x>x</a>", NAVIGATION), ("<a class=language-toggle href=x>x</a>", SWITCHER),
        ],
    )  # fmt: skip
    def test_by_elements_and_classes(self, html: str, position: LinkPosition) -> None:
        assert links(html.format("<a href=x>Fréttir</a>"))["/dir/x"].position is position

    @pytest.mark.parametrize(
        ("anchor", "label"),
        [
            ("<a href=x>Íslenska</a>", "isl"), ("<a href=x>In English</a>", "eng"), ("<a href=x>[Euskaraz]</a>", "eus"),
            ("<a href=x title='Bil-Malti'><img src=m.gif></a>", "mlt"),
            ("<a href=x aria-label='Switch to French'>🌐</a>", "fra"),
            ("<a href=x><img src='/img/flags/is.png'></a>", "isl"),
            ("<a href=x><i class='flag-icon flag-icon-gb'></i></a>", "eng"), ("<nav><a href=x>EU</a></nav>", "eus"),
            ("<a href=x hreflang=mt>MT</a>", "mlt"), ("<p><a href=x>IS</a> | <a href=y>EN</a>", "isl"),
            ("<x-a><template shadowrootmode=open><nav><a href=x>Español</a></nav></template></x-a>", "spa"),
        ],
    )  # fmt: skip
    def test_links_named_after_languages(self, anchor: str, label: str) -> None:
        link = links(anchor)["/dir/x"]
        assert (link.position, link.label) == (SWITCHER, label)

    @pytest.mark.parametrize("text", ["IT", "no", "so", "1", "Deutsche Bank", "English grammar", "Fréttir"])
    def test_other_links(self, text: str) -> None:
        link = only(f"<p>See <a href=x>{text}</a>")
        assert (link.position, link.label) == (BODY, None)

    def test_lists_of_languages_and_others(self) -> None:
        assert {link.position for link in links("<a href=x>no</a><a href=y>no</a>").values()} == {BODY}
        found = links("<select><option value=''>Language<option value=/en/>English<option value='?l=is'>IS</select>")
        assert {path: (link.source, link.label) for path, link in found.items()} == {
            "/en/": (LinkSource.OPTION, "eng"),
            "/dir/page.html?l=is": (LinkSource.OPTION, "isl"),
        }
        assert not links("<select><option value=/a/>Reykjavík<option value=/b/>Akureyri</select>")
        assert not links("<select><option value=en>English<option value=is>Íslenska</select>")


FORMS = {
    "codes in a field that is named after languages, options without value":
        ("<form action=/><select name=hl><option value=''>Language<option>EN<option>ES</select></form>",
         {"/?hl=EN": "eng", "/?hl=ES": "spa"}),
    "numbers as values, invitation, disabled option":
        ("<form action=/><select name=v><option value=0>Choose language<option value=1>English"
         "<option value=2 selected>Español<option value=3 disabled>Malti</select></form>",
         {"/?v=1": "eng", "/?v=2": "spa"}),
    "submit buttons":
        ("<form action=/><input type=hidden name=p value=7><button name=lang value=es>Español</button>"
         "<input type=submit name=lang value=en><button type=button name=lang value=mt>Malti</button>"
         "<button name=lang value=fi formmethod=post>Suomi</button><button>Go</button></form>",
         {"/?p=7&lang=es": "spa", "/?p=7&lang=en": "eng"}),
    "a form for each language":
        ("<form action=/><input type=hidden name=lang value=es><button>Español</button></form>", {"/?lang=es": "spa"}),
    "address of the button, text of its image":
        ("<form action=/><button formaction=/es/>Español</button>"
         "<button name=l value=en><img src=en.png alt=English></button></form>", {"/es/": "spa", "/?l=en": "eng"}),
    "forms and buttons of POST do not count":
        ("<form method=post><button>Add</button></form>" * 20
         + "<form action=/><input type=password disabled><button name=l formmethod=post>Mt</button>"
         "<button name=l value=es>Español</button><button formmethod=post>A</button></form>", {"/?l=es": "spa"}),
    "form between the parts of a table":
        (f"<table><form action=/><tr><td>{LIST}</form></table><input type=password>"
         "<form action=/b><button>Malti</button></form>", {"/?lang=en": "eng", "/?lang=es": "spa", "/b": "mlt"}),
    "addresses as values are those that are followed":
        ("<form action=/go><select name=url onchange='location=this.value'>"
         f"{LANGUAGES.replace('value=', 'value=/x/')}</select></form>", {"/x/en": "eng", "/x/es": "spa"}),
}  # fmt: skip
FORMS_WITH_LIST = {
    "hidden input after the list, submit button":
        ("<form method=get action=/go>{}<input type=hidden name=p value='a b'><input type=submit value=Go name=go>"
         "</form>", "/go?lang={}&p=a+b"),
    "no method, no address": ("<form>{}</form>", "/dir/page.html?lang={}"),
    "no address leads to the page and not to its base": ("<base href=/base/><form>{}</form>", "/dir/page.html?lang={}"),
    "address is resolved and loses its query":
        ("<base href=/base/><form action='x?old=1#top'>{}</form>", "/base/x?lang={}"),
    "other lists: the selected option or the first":
        ("<form action=/>{}<select name=size><option>S<option selected>M</select><select name=c><option>red"
         "<option>blue</select><select multiple name=m><option>x</select><select><option>y</select></form>",
         "/?lang={}&size=M&c=red"),
    "which inputs are sent":
        ("<form action=/><input name=a value=1><input name=b><input type=checkbox name=c value=1 checked>"
         "<input type=hidden name=d value=1 disabled><input type=hidden name=e>"
         "<input type=radio name=g value=1 checked><button name=h value=1>Go</button>"
         "<input type=hidden name=f form=other>{}</form>", "/?a=1&e=&g=1&lang={}"),
    "unclosed elements":
        ("<div><form action=/><div></form><form method=post><input type=password></form></div></div>"
         "<form action=/b>{}</form>", "/b?lang={}"),
}  # fmt: skip
for name, (form, path) in FORMS_WITH_LIST.items():
    FORMS[name] = form.replace("{}", LIST), {path.format("en"): "eng", path.format("es"): "spa"}


class TestForms:
    """GET forms that choose a language."""

    @pytest.mark.parametrize(("html", "expected"), FORMS.values(), ids=FORMS)
    def test_links(self, html: str, expected: dict[str, str]) -> None:
        found = links(html)
        assert {path: link.label for path, link in found.items()} == expected
        assert {link.position for link in found.values()} == {SWITCHER}
        assert {link.source for link in found.values()} <= {LinkSource.FORM, LinkSource.OPTION}

    @pytest.mark.parametrize(
        "html",
        [
            "<form method=post>{}</form>", "<form method=dialog>{}</form>", "<form action='javascript:go()'>{}</form>",
            "<form method=' POST '>{}<button name=lang value=mt>Malti</button></form>",
            "<form><div></form><form method=post>{}</form></div>", "<form action='mailto:me@example.org'>{}</form>",
            "<form action=/>{}<input type=password name=p></form>", "<form action=/>{}<input type=file name=p></form>",
            "<form action=/>{}<textarea name=p></textarea></form>", "<form action=/>{}<input name=p required></form>",
            "<form action=/search><input type=search name=p>{}</form>", "<form action=/search><input name=q>{}</form>",
            "<form action=/><select name=from>{0}</select><select name=to>{0}</select></form>",
            "<form action=/><select>{0}</select></form>", "{}<button name=lang value=es>Español</button>",
            "<form action=/><select name=lang disabled>{0}</select></form>",
            "<form action=/><select name=lang><option value=en>English</select></form>",
            "<form action=/><select name=country><option value=de>Germany<option value=fr>France</select></form>",
            "<form action=/><select name=country><option>DE<option>FR<option>IT</select></form>",
            "<form action=/><button>Go</button><button name=c value=de>DE</button></form>",
            "<form action=/>{}<input type=hidden name=x value=" + "x" * 3000 + "></form>",
            "<form action=/>{}" + "<input type=hidden name=x value=1>" * 200 + "</form>",
        ],
    )  # fmt: skip
    def test_no_links(self, html: str) -> None:
        assert not links(html.replace("{0}", LANGUAGES).replace("{}", LIST))

    def test_limits_and_the_page_itself(self) -> None:
        found = parse_page(f"<form>{LIST}</form>", URL + "?lang=en").links
        assert [link.url for link in found] == [URL + "?lang=es"]
        options = "".join(f"<option value={i}>English ({i})<option value=x{i}>Español" for i in range(500))
        assert len(links(f"<form action=/><select name=lang>{options}</select></form>")) == 50
        forms = "".join(f"<form action=/{i}>{LIST}</form>" for i in range(100))
        assert len(links(forms)) == 40

    @pytest.mark.parametrize(
        "html",
        [
            "<form action=/><select name=lang>" + LANGUAGES * 10_000,
            "<select>" + "".join(f"<option value=/{i}/>English {i}" for i in range(20_000)),
            "<form action=/>" + LIST * 10_000,
            "<form action=/>" + "".join(f"<input type=hidden name=l{i} value=es>" for i in range(10_000)),
            "<form action=/>" + "<button name=lang value=es>Español</button>" * 10_000,
            "<form><div></form>" * 4000 + f"<select name=lang>{LANGUAGES}",
            "<table>" + "<form action=/>" * 50 + "<tr><td>" + "<input type=hidden name=a value=b>" * 10_000,
            "<table><form></table>" * 10_000,
            "<table><tr><form>" * 4000,
            "<form action='/" + "<select name=lang><option value=es>Español" * 10_000,
            "<div onclick=\"location='/a'\">" * 4900 + "x" * 500_000,
            "<li onclick=\"location='/a'\"><a href=#>x</a>" * 10_000,
            '<p onclick="' + "location=" * 100_000 + "'\">x",
            '<p onclick="' + "window." * 280 + '">x' * 2500,
            '<p onclick="' + "location='\\/" * 150 + '">x' * 2500,
        ],
        ids=str.__len__,
    )
    def test_hostile_forms_and_scripts(self, html: str) -> None:
        assert within(4.0, lambda: links(html))
        tracemalloc.start()
        assert len(links(html)) <= 1000
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 40e6


class TestScripts:
    """Elements that lead to an address by a script."""

    @pytest.mark.parametrize(
        "script",
        [
            "location.href='/es/'", "location='/es/';return false", "window.location = `/es/`",
            "window.location.href = '\\/es\\/'; return false;", "javascript:document.location.href='/es/'",
            "event.preventDefault(); self.location='/es/'", "if (confirm('Go?')) { top . location . href = '/es/' }",
            "location.assign('/es/')", "window.location.replace( '/es/' )", "window.open('/es/')",
            "window.open('/es/', '_self')",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize(
        "element",
        [
            "<a onclick=>Español</a>", "<a href=# onclick=>Español</a>",
            "<a href='javascript:void(0)' onclick=>Español</a>", "<button onclick=>Español</button>",
            "<p>in <span onclick=>Español</span></p>", "<div onclick=><b>Español</b></div>",
            "<ul><li onclick=><a href=#>Español</a></ul>", "<ul><li onclick=><a>Español</a></ul>",
            "<select><option onclick=>Español</select>", "<input type=button value=Español onclick=>",
            "<img src=flags/es.png onclick=>", "<table><td onclick=><img src=x.png alt=Español></table>",
        ],
    )  # fmt: skip
    def test_links(self, element: str, script: str) -> None:
        link = only(element.replace("onclick=", f'onclick="{script}"'))
        assert (link.url, link.source) == ("https://example.org/es/", LinkSource.SCRIPT)
        assert (link.label, link.position) == ("spa", SWITCHER)

    @pytest.mark.parametrize(
        "script",
        [
            "location.href='/es/' + page", "location.href = base + '/es/'", "location.href='/es/'.concat(x)",
            "location=urls[this.value]", "location.href == '/es/'", "location.hash='/es/'", "open('/es/')", "",
            "location.href.replace('/en/', '/es/')", "location.assign('/es/' + x)", "window.open(`/es/${x}`)",
            "mylocation='/es/'", "map.location='/es/'", "dialog.open('/es/')", "location.href='javascript:x'",
            "location.href='mailto:me@example.org'", "location.href='#es'", "window.open('about:blank')",
            "location=''", "location='/es/", "location='/x\\u0041'", "location='/es/';" + " " * 2000,
        ],
    )  # fmt: skip
    def test_no_links(self, script: str) -> None:
        assert not links(f'<button onclick="{script}">Español</button><a href=# onclick="{script}">x</a>')

    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("<ul><li onclick=/news/1>News</ul><nav><span onclick=/about>About</span></nav>",
             {"/news/1": ("News", BODY, None), "/about": ("About", NAVIGATION, None)}),
            ("<span onclick=/en/>EN</span> | <span onclick=/es/>ES</span>",
             {"/en/": ("EN", SWITCHER, "eng"), "/es/": ("ES", SWITCHER, "spa")}),
            ("<a href=/en/ onclick=/es/>x</a>", {"/en/": ("x", BODY, None)}),
            ("<div onclick=/a>Card <a href=/b>More</a> end</div><a href=/c>C</a>",
             {"/a": ("Card", BODY, None), "/b": ("More", BODY, None), "/c": ("C", BODY, None)}),
        ],
        ids=["other links", "codes beside each other", "a link of its own comes first", "links inside keep their text"],
    )  # fmt: skip
    def test_links_beside_others(self, html: str, expected: dict[str, tuple[str, LinkPosition, str | None]]) -> None:
        found = links(re.sub("onclick=([^ >]+)", r"""onclick="location='\1'" """, html))
        assert {path: (link.text, link.position, link.label) for path, link in found.items()} == expected

    def test_text_of_the_page_stays(self) -> None:
        html = "<div {}>One <span {}>two</span><p>three <a href=x>four</a><a href=# {}>five</a></div>"
        plain, clicked = (parse_page(html.replace("{}", on), URL) for on in ("", "onclick=\"location='/a'\""))
        assert clicked.text == plain.text


class TestLabels:
    @pytest.mark.parametrize(
        ("text", "lang"),
        [
            ("english", "eng"), ("Español (Spanish)", "spa"), ("Português (BR)", "por"), ("Suomeksi", "fin"),
            ("На русском", None), ("По-русски", "rus"), ("中文 (繁體)", "zho"), ("English | Français", None),
            ("Ver la versión catalana", "cat"), ("🇮🇸", "isl"), ("🇬🇧 In English", "eng"), ("", None), ("es", None),
            ("x" * 500, None), ("Norsk bokmål", "nor"), ("  EUSKARA ▾", "eus"), ("Tiếng Việt (Vietnamese)", "vie"),
            ("ภาษาไทย (th)", "tha"), ("Report (English)", None), ("हिन्दी", "hin"), ("हिन्दी साहित्य", None),
            ("中文（简体）", "zho"), ("Fra\u0301ncais", None), ("Franc\u0327ais", "fra"), ("Yn Gymraeg", "cym"),
            ("हिंदी", "hin"), ("英文版", "eng"), ("한국어판", "kor"), ("בעברית", "heb"),
        ],
    )  # fmt: skip
    def test_names(self, text: str, lang: str | None) -> None:
        assert named_language(text) == lang

    @pytest.mark.parametrize(
        ("text", "lang"),
        [("en", "eng"), ("[IS]", "isl"), ("pt-BR", "por"), ("zh_Hans", "zho"), ("UK", "eng"), ("uk", "ukr"),
         ("NB", "nor"), ("ＥＮ", "eng"),
         ("cz", "ces"), ("🇫🇮 FI", "fin"), ("Eus", "eus"), ("up", None), ("e", None), ("x-default", None), ("", None)],
    )  # fmt: skip
    def test_codes(self, text: str, lang: str | None) -> None:
        assert coded_language(text) == lang

    @pytest.mark.parametrize(
        ("image", "lang"),
        [
            ("UK\nimg/flag-united-kingdom2x.png", "eng"), ("flags/ca.png", "cat"), ("flag_mt.gif", "mlt"),
            ("fi fi-fi", "fin"), ("images/se.png", "swe"), ("img/photo.jpg", None), ("Logo\nimg/logo-is.png", None),
            ("", None),
        ],
    )  # fmt: skip
    def test_flags(self, image: str, lang: str | None) -> None:
        assert flagged_language(image) == lang

    def test_image_on_a_switch_is_a_flag(self) -> None:
        assert flagged_language("images/us-uk.png") is None
        assert flagged_language("images/us-uk.png", on_switch=True) == "eng"
        assert links("<p class=lang><a href=x><img src=images/ikurrina.png></a>")["/dir/x"].label == "eus"


PAGES = "x.php?f=y.pdf v1.2/ .txt #!/x.pdf page.html.so page.html.rm page.php.ps page.shtml.mo wiki/Node.js"
OTHERS = "x.PDF x.min.js?v=1 x.pdf#!lang=spa page.html.zip page.html.jar page.so wiki/MediaWiki:Common.js Node.js"


def test_what_may_be_a_page() -> None:
    """An ending may be a language or part of a title."""
    pages = ["", *PAGES.split(), "w/index.php/Vue.js"]
    others = [*OTHERS.split(), "wiki/skins/common.js", "wiki/Report.pdf", "w/images/1/12/Setup.exe"]
    assert [path for path in (*pages, *others) if may_hold(f"https://example.org/{path}")] == pages


@pytest.mark.parametrize("name", ["Node.js", "/wiki/Node.js", "https://wiki/Node.js", "https://example.org.js"])
def test_a_name_alone_has_its_ending(name: str) -> None:
    assert ending_of(name) == "js"


MARKUP = """<a href=x>|</a>|<p>|<nav>|</nav>|<select>|<option value=/en/>|</select>|English|<div class=lang>|</div>|<td>
|<table>|<svg>|<title>|</title>|<template>|&#0;|<base href=//[>|<a href='http://[x'>|<noscript>|<frameset>|<|<!--
|<a href='?&amp;\t\n'>|<body hidden>|<math><a>|<form>|</form>|<select name=lang>|
|<template shadowrootmode=open>|</template>|<br>|<sup>|<dialog>|<slot>|<span class=katex-html>|<span>a b|</span>|
|<option>Español|<input type=radio name=lang value=es>|<button name=lang value=es>|<label for=x>|<textarea>|</table>
|<li onclick="location='/es/'">|<a href=# onclick="location='/es/">|</li>|<input name=\ud800 value=\x00>
|<link rel=alternate hreflang=is href=y>|\x00|\ud800"""


class TestRobustness:
    @settings(max_examples=150, deadline=None)
    @given(st.lists(st.sampled_from(MARKUP.split("|")), max_size=40).map("".join))
    def test_never_raises(self, html: str) -> None:
        page = parse_page(html, URL, [html])
        assert len({link.url for link in page.links}) == len(page.links)

    def test_many_links_take_linear_time(self) -> None:
        def seconds(count: int) -> float:
            html = "<ul class=menu>" + "".join(f"<li><a href='/p/{i}'>Page {i}</a>" for i in range(count))
            pages = []
            taken = processor_seconds(lambda: pages.append(parse_page(html, URL)))
            assert len(pages[0].links) + pages[0].links_left == min(count, MAX_ANCHORS)
            return taken

        assert any(seconds(50_000) < 10 * max(seconds(10_000), 0.02) for _ in range(ATTEMPTS))

    @pytest.mark.parametrize(
        ("seconds", "html"),
        [
            *(
                (10, "<p>x " + repeated * 100_000)
                for repeated in (
                    *("<a href=#>#</a>", "<a href=#> </a>", "x<a href=#a>¶</a>", "a\u200d", "\u200b"),
                    "<h1><b><i><a href=#x>¶</a>",
                )
            ),
            (3, "<p>a<i></i>" + " " * 500_000 + "<x-p>" + "<x-a></x-a>" * 45_000 + "</x-p>b"),
            (3, "<p>" + "x" * 500_000 + "<b hidden>" + "<u>Ab</u>" * 55_000 + "</b>"),
            *((2, tag * 20_000) for tag in ("<div>", "<b id=x>", "<nav class=lang>", "<svg>", "<path/>")),
            *((2, tag * 20_000) for tag in ("<svg></svg><i>", "<svg><a href=x>text")),
            (2, "<svg>" + "<a href=x>" * 100_000 + "word " * 100_000),
            (2, "<a " + "x1=1 x2=2 " * 50_000 + ">"),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_hostile_markup_takes_linear_time(self, seconds: float, html: str) -> None:
        assert within(seconds, lambda: parse_page(html, URL))

    def test_large_drawings_cut_nothing(self) -> None:
        drawing = "<svg viewBox='0 0 1 1'>" + "<path d='M0 0'/>" * 6000 + "</svg>"
        page = parse_page(f"<p>before</p>{drawing}<p>between</p>{drawing}<p>after <a href=/b>link</a></p>", URL)
        assert page.text == "before\nbetween\nafter link"
        assert [link.url for link in page.links] == ["https://example.org/b"]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_addresses_in_headers_need_no_escapes(encoding: str) -> None:
    header = "</español>; rel=alternate; hreflang=es".encode(encoding)
    job = page_job(Response("https://example.org/", headers={"Link": header}, body=b"<p>text"), "https://example.org/")
    assert [link.url for link in job.run().links] == ["https://example.org/espa%C3%B1ol"]


@pytest.mark.parametrize("value", ["0; url=/is/", "5;URL='/is/'", "0,/is/", "0; https://example.org/is/"])
def test_a_refresh_in_a_header_is_a_link(value: str) -> None:
    response = Response("https://example.org/", headers={"Refresh": value}, body=b"<p>text")
    (link,) = page_job(response, "https://example.org/").run().links
    assert (link.url, link.source) == ("https://example.org/is/", LinkSource.REFRESH)
