"""Where sentences end: lines in which a bar stands between two sentences, and in all scripts and languages."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.costs import ATTEMPTS, processor_seconds

from benchmarks.splitting import main, read_gold
from bilingual_crawler.bitext.splitting import Sentence, split


def is_split_at_bars(language: str, line: str) -> bool:
    """Whether sentences end at the bars and nowhere else: ``‖`` stands for a blank, ``¦`` for none."""
    text = line.replace("‖", " ").replace("¦", "")
    return [one.text for one in split([text], language)] == re.split("[‖¦]", line)


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("fra", "Le musée de {} Durand ouvre demain.‖Venez."),
        ("spa", "El museo de {} López abre mañana.‖Vengan."),
        ("por", "O museu de {} Rocha abre amanhã.‖Venham."),
        ("cat", "El museu de {} Ferrer obre demà.‖Veniu."),
        ("glg", "O museo de {} Otero abre mañá.‖Veñan."),
        ("dan", "Museet for {} Larsen åbner i morgen.‖Kom."),
        ("slk", "Múzeum {} Horváta sa zajtra otvorí.‖Príďte."),
        ("ces", "Muzeum {} Dvořáka se zítra otevře.‖Přijďte."),
        ("pol", "Muzeum {} Zielińskiego otworzy się jutro.‖Zapraszamy."),
        ("rus", "Музей {} Brown открывается завтра.‖Приходите."),
        ("ukr", "Музей {} Brown відкривається завтра.‖Приходьте."),
        ("bul", "Музеят на {} Brown отваря утре.‖Елате."),
        ("nld", "Het museum van {} de Wit opent morgen.‖Kom."),
        ("eng", "The museum of {} Taylor opens tomorrow.‖Come."),
        ("deu", "Das Museum von {} Schulz öffnet morgen.‖Komm."),
        ("slv", "Muzej {} Novaka se odpre jutri.‖Pridite."),
        ("swa", "Makumbusho ya {} Mwangi yanafunguliwa kesho.‖Njoo."),
    ],
)
def test_initials_end_no_sentence(language: str, line: str) -> None:
    letters = ["A.", "C.", "G.", "I.", "L.", "M.", "O.", "S.", "V.", "Y.", "A. M.", "A.M.", "J.-P.", "É.", "Š."]
    assert [one for one in letters if not is_split_at_bars(language, line.format(one))] == []


LINES = {
    "an abbreviation ends no sentence": [
        ("fra", "M. Blanc et Mme. Noir habitent ici.‖L’art. 7 le dit.‖C'est vrai."),
        ("fra", "Vers 50 av. J.-C. tout change.‖D'après E. Zola et G. de Nerval, non.‖Fin."),
        ("nld", "Mevr. B. van der Meer en dhr. K. Bos zijn er.‖Zij gaan."),
        ("pol", "Prof. dr hab. Anna Lis i ks. Piotr byli tu.‖Poszli."),
        ("pol", "Umowa z dnia 3 lipca 2019 r. o pracy jest ważna.‖Ma 7 tys. zł.‖W 1950 r. Anna wyjechała."),
        ("pol", "Biuro jest przy al. Anny III 7.‖Ma 3 tys. książek."),
        ("ita", "L’art. 9 e l'on. Bruni, legge n. 12 del 1990.‖Fine."),
        ("ell", "Κατά το άρθρ. 9 και τη σελ. 3 ισχύει.‖Βλ. τηλ. 555.‖Τέλος."),
        ("por", "Custa aprox. 900 reais, cf. os arts. 7 e 8.‖Fim."),
        ("ron", "Dl. Marin și dna. Stan au venit.‖Au plecat."),
        ("afr", "Dit is mnr. Nel en mev. Botha.‖Hulle bly."),
        ("ind", "Bpk. Agus tinggal di Jl. Melati.‖Ia pulang."),
        ("msa", "En. Hassan tinggal di Jln. Mawar.‖Dia pulang."),
        ("swa", "Bw. Otieno na Bi. Amina walifika.‖Walikaa."),
        ("swe", "Bron kostar ca. 7 milj. kr. per mil.‖Den är lång."),
        ("tur", "M.Ö. 7. yy. da kuruldu.‖Büyüdü."),
        ("eng", "See eq. 7 and para. 2 of chap. 9.‖The reason is plain."),
        ("eng", "Mr. Lee of the U.S. Army met Dr. O'Neill at 6 p.m. in St. Ives.‖They left.‖It was No. 3."),
        ("eng", "Books, pens etc.‖The shop is open.‖(It was shut.)‖They agreed on plan B.‖Then they left."),
        ("bul", "Живее на ул. Липа № 7, ет. 2, ап. 9 е свободен.‖Край."),
        ("deu", "Die Fa. Braun sitzt in der Hauptstr. 9.‖Sie kam."),
        ("deu", "Vom 3. bis 5. Mai ist zu, z. B. wegen Umbau usw.‖Danach nicht."),
        ("est", "Ta tuli koju.‖1999. aastal lahkus."),
        ("cat", "No ho sap, potser no.‖L’ordre és clar."),
        ("kat", "დ. კლდიაშვილი 1862 წელს დაიბადა.‖გარდაიცვალა 1931 წელს."),
        ("tam", "சி. வ. ராஜன் வந்தார்.‖அவர் சென்றார்."),
    ],
    "an ordinal before a capital ends no sentence": [
        ("deu", "Der 1. Weltkrieg endete 1918.‖Es folgte eine Krise."),
        ("deu", "Die Praxis ist im 3. Obergeschoss.‖Sie spielt beim 1. FC Union.‖Das war der 12. Anlauf."),
        ("deu", "Er kam auf Platz Nr. 3.‖Das war gut.‖Karl V. Habsburg war da."),
        ("ltz", "Am 2. Weltkrich war et esou.‖Gutt."),
        ("dan", "Den 1. Verdenskrig sluttede.‖Det var godt."),
        ("nor", "Etter 1. Verdenskrig kom fred.‖Det var bra."),
        ("hrv", "Nakon I. Svjetskog rata, u II. Izdanju, piše to.‖Kraj."),
        ("pol", "Zygmunt III. Waza był królem.‖Zmarł w 1632."),
        ("fin", "Kaarle XII. Kustaa oli kuningas.‖Hän kuoli."),
        ("hun", "Az 1. Világháború előtt élt.‖Elment."),
        ("ces", "Karel IV. Lucemburský vládl.‖Bylo to roku 1350.‖Potom zemřel."),
        ("eng", "It was World War II.‖Peace came in 1945.‖Nobody knew.‖He ran in lane 5.‖Peter won."),
    ],
    "a number ends no heading": [
        ("eus", "Gotzone XIX. mendean jaio zen.‖Gero hil zen."),
        ("deu", "Im 19. Jahrhundert war es so."),
        ("deu", "Drucke des 16. und 17. Jahrhunderts."),
        ("deu", "Es ist Nr. 5.‖Danach kam 6."),
        ("eng", "5.17.1. Configuring the network"),
        ("eng", "1. Open it.‖2. Close it."),
        ("zho", "5.1. 配置网络。"),
        ("eng", "It was 2018.‖Then it ended."),
        ("swe", "T.ex. så här.‖Det är bra."),
        ("swe", "Blommor, träd m.fl.‖Andra växter."),
    ],
    "the full stop of a script ends a sentence": [
        ("bod", "ཁྱིམ་ཆེན་པོ་ཡོད།‖མི་མང་པོ་འདུག།‖བདེ་མོ།"),
        ("dzo", "ཁྱིམ་སྦོམ་ཡོད།‖མི་མང་པོ་འདུག"),
        ("hin", "घर बड़ा है |‖लोग वहाँ रहते हैं |"),
        ("hin", "घर | समाचार | संपर्क"),
        ("mar", "घर मोठे आहे।‖लोक राहतात।"),
        ("amh", "ቤቱ ትልቅ ነው::‖ሰዎች ይኖራሉ::‖ደህና ነው።"),
        ("ell", "Πού είσαι\u037e‖Εδώ είμαι;‖Ναι, εδώ."),
        ("eng", "Use std::vector here; Never mind.‖Done."),
        ("hye", "Նա եկավ։‖Նա գնաց։"),
        ("urd", "وہ آیا۔‖وہ گیا۔"),
    ],
    "quotations, notes and lists": [
        ("eng", '"Come in! Sit down," she said.‖"Why?" he asked.‖He left.‖“First. Second” is right.'),
        ("eng", "We came.‖(First one.‖Second one.)‖It is (see p. 5. It is long) so."),
        ("fra", "« Entrez ! » dit-elle.‖Il entra.‖Elle dit : « Non. »‖Voilà."),
        ("eng", "A note is here.¹‖It goes on.[2]‖It ends ...‖Here it is."),
        ("eus", "1. Ireki fitxara‖2. Sakatu botoia‖3. Itxi leihoa"),
        ("eng", "To do:‖1. Open the tab‖2. Press the button"),
        ("deu", "Vom 1. Januar an gilt der 2. Teil."),
        ("eng", "Set Staff.NoteHead and iPod.A4, then write to foo.Bar@example.com or x/a.Page."),
        ("pol", "Otwórz bibliotekę.‖apt-get pobierze ją."),
        ("eng", "That is the fee.‖eBay takes it.‖Bros wrote a book, e.g. one by eToro."),
        ("eng", "I. The harbour and the market"),
        ("eng", "We saw it on tv.‖Rich people laughed at me.‖Peter left."),
    ],
    "a name is not cut": [
        ("eng", "Edit CONFIG.SYS and AUTOEXEC.BAT.‖Delete *.* there."),
        ("tur", "NET.CFG ve PROTOCOL.INI dosyaları.‖Bkz.: www.IndianAces.org sayfası."),
        ("jpn", "これはCONFIG.SYSです。¦次の文。"),
        ("eng", "He came.¦She went."),
        ("eng", "Oliver (2020).‖“The title“.‖Next."),
        ("por", "O Seminário Sincronizando..., que traz discussões.‖Fim."),
        ("eng", "It is so. [1]‖What does that mean?‖Yes."),
        ("deu", "„Das ist gut.“¦Dann ging er."),
        ("eng", "AA.BB" * 99),
        ("eng", "*.*" * 99),
        ("deu", "im 19. Jh. " * 99 + "im Mai"),
    ],
    "initials, abbreviations and quotations": [
        ("mlt", "Il-Prof. Borg u l-Onor. Vella.‖L-Art. 5 tal-Kap. 12 japplika.‖Wara telaq."),
        ("isl", "Jón Ó. Sigurðsson kom.‖Það kostar 500 kr. á mann, sbr. 2. mgr. 5. gr. laga.‖Það er þ.á m. hér."),
        ("isl", "Hann kom.‖Sjá bls. 12."),
        ("mlt", "L-Avv. Zammit kiteb l-Avviż Legali Nru. 34 tal-2020.‖Wara telaq."),
        ("isl", "Próf. Anna las 2. tölul. 5. gr. laganna.‖Greiddar voru 1,5 millj. kr. þann dag.‖Hún fór."),
        ("eus", "Tel. 943 12.‖Gauza asko daude, adib. hau.‖Jn. Etxeberria etorri da.‖Joan da."),
        ("isl", "Fundur verður haldinn þ. 5. maí.‖Hann kom þ. 12. júní sl.‖Hún fór."),
        ("gle", "An tUas. Ó Briain.‖Féach lch. 12.‖Tháinig sé."),
        ("srp", "Др Ј. Поповић је дошао.‖У 19. веку, тј. раније, бр. 12.‖Умро је 1999.‖Потом."),
        ("ukr", "Прийшов І. Франко.‖Потім пішов."),
        ("bul", "Писа И. Вазов.‖През V в. пр.н.е. и по-късно.‖Това е."),
        ("ell", "Ήρθε ο Ν. Πλαστήρας.‖Έφυγε."),
        ("fra", "Vers 50 apr. J.-C. tout change.‖Fin."),
        ("kat", "ის გარდაიცვალა 1999.‖დაკრძალულია ძვ.წ. აქ.‖მოვიდა ი. ჯავახიშვილი."),
        ("ara", "السعر ٣.٥ دينار.‖قال: «نعم.»، ثم ذهب د. أحمد.‖عام ٥ ق.م. انتهى."),
        ("hin", "मूल्य ५.३ है।‖डॉ. अब्दुल आए।‖वह आया.‖वह गया."),
        ("heb", "ת.ד. 5 חיפה.‖הוא בא."),
        ("tha", "วันที่ 5 พ.ค. 2567 เวลา 10.00 น. ในปีพ.ศ. 2500 งานดี.‖คนมา."),
        ("amh", "በ1954 እ.ኤ.አ. ተወለደ፡፡‖ከዚያ ሄደ፡፡¦መጣ።"),
        ("khm", "គាត់កើតនៅឆ្នាំ ១៩៥៤។‖គាត់ទៅហើយ។"),
        ("mya", "ဟုတ်ကဲ့၊ ဟုတ်သည်။‖ဟုတ်ပါသလား။"),
        ("jpn", "「ありがとう。」と彼は言った。¦『本。』、次。¦「行く。」¦ところが違う。"),
        ("kor", '2024. 5. 3.부터 시행한다.‖"좋다!"고 말했다.‖네.‖2024. 5. 3.‖그는 갔다.¦왔다.'),
        ("zho", "“好。”，他说。¦他走了。"),
        ("eng", "It was dry.‖Then the BBC.‖12 people came.‖He is in.‖they left."),
    ],
}


@pytest.mark.parametrize(
    ("language", "line"),
    [pytest.param(*case, id=f"{why}: {case[0]}") for why, cases in LINES.items() for case in cases],
)
def test_sentences_end_at_the_bars_and_nowhere_else(language: str, line: str) -> None:
    assert is_split_at_bars(language, line)


DATED = (
    "bos hrv srp slv nor nno isl est lav lit hun mkd swe fao sme tur pol bul rus ukr ron ell eus nld gle kat aze deu"
)


@pytest.mark.parametrize("language", DATED.split())
def test_a_date_is_not_cut(language: str) -> None:
    line = "Abc def 3. 11. 1962 ghi.‖Def abc 2001.‖Ghi 3.11.1962.‖Jkl."
    if language in ("bul", "rus", "ukr", "mkd"):
        line = line.translate(str.maketrans("AbcdefGhiJklgj", "АбвдежГхиЙклгй"))
    assert is_split_at_bars(language, line)


PARENTHESISED = (
    "eng fra deu spa ita por nld pol ces hun fin isl swe nor dan rus ukr ell tur eus cat mlt gle cym lav lit est ron "
    "hrv srp slv"
)


@pytest.mark.parametrize("language", PARENTHESISED.split())
def test_a_sentence_in_brackets_is_a_sentence(language: str) -> None:
    assert is_split_at_bars(language, "Mmm nnn ooo.‖(Ppp qqq rrr.)‖Sss ttt uuu (vvv. www) xxx.‖[Yyy zzz!]‖Aaa bbb.")


HOSTILE = ("“", "„a ", "(a. ", "(A.) ", '"A. ', "«", "a. ", "1. ", "[1]", "1. A 2. B ", "' ", "。“", "ሀ::", "A.-", "» ")


@pytest.mark.parametrize("text", [*HOSTILE, "AA.BB", "*.*", "im 19. Jh. "])
def test_no_line_costs_more_than_linear_time(text: str) -> None:
    def seconds(characters: int) -> float:
        return processor_seconds(lambda: split([text * (characters // len(text))], "deu"))

    # 16 times in quadratic time
    assert any(seconds(120_000) < 8 * seconds(30_000) + 0.1 for _ in range(ATTEMPTS))


SIGNS = st.text("aA1é.!?;:。།“”„«»()[]\"'’-|/ \n,नሀきIX你\u3000\u00a0\x85@", max_size=40)


@given(
    st.lists(SIGNS | st.text(max_size=20), max_size=8),
    st.sampled_from(["eng", "deu", "ell", "hin", "jpn", "slv", "zho", "isl", "ara"]),
)
@example(["Hann kom 5. maí 2020. Svo fór hann.", "你好。我很好。"], "isl")
def test_the_sentences_of_a_line_are_the_line(paragraphs: list[str], language: str) -> None:
    written: dict[int, str] = {}
    for sentence in split(paragraphs, language):
        assert sentence.text == sentence.text.strip() != ""
        before = written.get(sentence.paragraph, "")
        written[sentence.paragraph] = before + sentence.text + " " * sentence.blank
    assert written == {n: text for n, line in enumerate(paragraphs) if (text := " ".join(line.split()))}


def test_sentences_keep_their_paragraph() -> None:
    assert split(["Hann kom 5. maí 2020. Svo fór hann.", "", "Ný grein"], "isl") == [
        Sentence("Hann kom 5. maí 2020.", 0, blank=True),
        Sentence("Svo fór hann.", 0),
        Sentence("Ný grein", 2),
    ]


def test_no_more_sentences_than_asked_for() -> None:
    assert [one.text for one in split(["A b. C d. E f.", "G h."], "eng", 2)] == ["A b.", "C d."]


def test_the_benchmark_counts_missed_and_false_boundaries(tmp_path: Path) -> None:
    gold = {
        "documents": {"german": [["Er kam am 3. Mai.", "Sie ging.", "Ende"]]},
        "language": "de",
        "cases": [{"sentences": ["Ende. ", "so gut "]}],
    }
    for name, keys in {"ud": ["documents"], "lt": ["language", "cases"]}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({key: gold[key] for key in keys}))
    (tmp_path / "own.tsv").write_text("eng\tOne.‖Two (three.‖Four) five.\n", encoding="utf-8")
    assert list(read_gold(tmp_path / "ud.json")) == [("deu", ["Er kam am 3. Mai.", "Sie ging.", "Ende"])]
    files = [str(tmp_path / name) for name in ("ud.json", "lt.json", "own.tsv")]
    main([*files, "--errors", "1", "--json", str(tmp_path / "figures.json")])
    ours = json.loads((tmp_path / "figures.json").read_text())["ours"]
    assert {language: round(rate) for language, rate in ours.items()} == {"deu": 200, "eng": 333, "all": 250}
