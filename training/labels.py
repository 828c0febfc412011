"""The label set of the reference model, in its order (spec of url2lang)."""

from __future__ import annotations

_CODES = """
eng deu rus fra zho spa jpn ita nld pol por ces vie tur ind swe ara fas kor hun ell ron dan fin tha
slk nor ukr bul cat srp hrv slv lit hin est heb lat ben lav msa bos sqi tam glg isl aze kat mkd eus
hye nep urd mon mal kaz mar tel nno bel uzb guj kan mya khm cym epo tgl sin afr tat swa gle pan kur
kir tgk mlt fao ori lao som ltz oci amh fry bak pus san bre mlg hau tuk war asm cos div jav ceb kin
hat zul gla bod xho yid snd mri uig roh sun kal yor tir abk bih haw hmn ina que grn ibo nya sco sna
sot smo vol glv orm ile syr aar dzo iku kha lin lug mfe aka aym bis chr crs fij ipk nso run sag ssw
ton tsn wol zha got kas lif nau sux tso ven
"""
REFERENCE_LABELS = ("unk", *_CODES.split())
