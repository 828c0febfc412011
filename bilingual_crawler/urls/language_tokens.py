"""Tokens that stand for a language in a URL, as the pair model reads them.

Part of the model's pre-processing: after a change here the parallelness model must be trained again. The table has more
tokens than the rules of `urls.markers`. Single letters and common words count too, because the model weights them
itself.
"""

from __future__ import annotations

_TABLE = """
eng en e gb us uk english englisch anglais ingles inglés inglese inglise angielski angol engels engelsk
deu de ger d deutsch german allemand tedesco aleman alemán nemacki duits niemiecki deutsche
fra fr fre f francais français french francese frances francés franzosisch französisch francuski franz
spa es esp espanol español spanish castellano castilian espagnol spagnolo spanisch espanyol cas
ita it i italiano italian italienisch italien italiaans ital
por pt p portugues português portuguese ptbr
nld nl dut nederlands dutch vlaams flemish ned
rus ru r russian русский russisch russe rusky
zho zh chi cn chinese hans hant zhcn zhtw chs cht tw 中文
jpn ja jp japanese 日本語
kor ko kr korean 한국어
pol pl polski polish polnisch
ces cs cz cze cestina čeština czech cesky
slk sk slo slovencina slovenčina slovak slovensky
slv si sl slovenscina slovenščina slovenian slovensko
hun hu magyar hungarian
ron ro rum romana română romanian
bul bg bulgarian български
ell el gr gre greek ελληνικά ellinika
tur tr turkish turkce türkçe
ara ar arabic العربية arab
fas fa persian farsi فارسی
heb he iw hebrew עברית
hin hi hindi
ben bn bangla bengali
urd ur urdu
tam ta tamil
tel te telugu
mar mr marathi
kan kn kannada
mal ml malayalam
guj gu gujarati
pan pa punjabi
sin si sinhala
nep ne nepali
mya my bur burmese myanmar
khm km khmer
lao lo laotian
tha th thai ไทย
vie vi vn vietnamese
ind id indonesian indonesia bahasa
msa ms malay melayu
tgl tl fil tagalog filipino
swe sv se swedish svenska s
dan da dk danish dansk
nor no nb nob norwegian norsk bokmal
nno nn nynorsk
fin fi finnish suomi suomeksi finnisch finska
isl is ice icelandic islenska íslenska
fao fo faroese
est et ee estonian eesti
lav lv latvian latviesu latviešu
lit lt lithuanian lietuviu lietuvių
ukr uk ua ukrainian українська ukr
bel be by belarusian
srp sr rs serbian srpski latn cyrl lat cir српски
hrv hr croatian hrvatski
bos bs ba bosnian bosanski
cnr me cg montenegrin crnogorski
mkd mk mac macedonian makedonski македонски
sqi sq al alb shqip albanian
mlt mt maltese malti
eus eu baq basque euskera euskara eusk euskaraz
cat ca catala català catalan valencia valencian
glg gl galego galician gallego
oci oc occitan
bre br breton brezhoneg
cym cy wel welsh cymraeg
gle ga irish gaeilge
gla gd gaidhlig
fry fy frisian frysk
ltz lb luxembourgish
afr af afrikaans
epo eo esperanto
lat latin
hye hy am arm armenian
kat ka ge geo georgian
aze az azerbaijani
kaz kk kz kazakh
uzb uz uzbek
kir ky kyrgyz
tgk tg tajik
tuk tk turkmen
tat tt tatar
bak bashkir
mon mn mongolian
pus ps pashto
kur ku kurdish kurdi ckb kmr
snd sd sindhi
uig ug uyghur
bod bo tibetan
amh am amharic
tir ti tigrinya
som so somali soomaali
swa sw swahili kiswahili
hau ha hausa
yor yo yoruba
ibo ig igbo
zul zu zulu
xho xh xhosa
sot st sesotho
tsn tn tswana
sna sn shona
nya ny chichewa
kin rw kinyarwanda
mlg mg malagasy
ori or odia
asm as assamese
san sa sanskrit
yid yi yiddish
jav jv javanese
sun su sundanese
haw hawaiian
mri mi maori
smo sm samoan
hat ht haitian
roh rm rumantsch romansh
"""

LANGUAGE_OF: dict[str, str] = {}
"""Lower-case token to ISO 639-3; if two languages share a token, the first in the table wins."""
for _line in _TABLE.strip().splitlines():
    _lang, *_tokens = _line.split()
    for _token in (_lang, *_tokens):
        LANGUAGE_OF.setdefault(_token, _lang)

_COMMON = """
por e d f i p r s no is it so or as am me my be at to in us de es la le al ca co si se lat san mac mon mar sun kin may
est fin cat geo per nor my all cas id tr th st sa sm sn mi ms pa ps ga ti ha he el et ta te ne lo ml mr fo by ba
"""
AMBIGUOUS = frozenset(_COMMON.split())
"""Language tokens that often have another meaning (words, ordinals, abbreviations)."""
