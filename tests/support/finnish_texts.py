"""A text in English and Finnish."""

ENGLISH = [
    "The library opens at 9 and closes at 17. Loans are free of charge.",
    "Opening hours",
    "Aino Virtanen wrote the history of the library in 1999.",
    "You can borrow 30 books, 5 films and 2 games at a time. Most loans last for four weeks.",
    "Contact us",
]
FINNISH = [
    "Kirjasto aukeaa kello 9 ja sulkeutuu kello 17. Lainaaminen on maksutonta.",
    "Aukioloajat",
    "Aino Virtanen kirjoitti kirjaston historian vuonna 1999.",
    "Voit lainata kerralla 30 kirjaa, 5 elokuvaa ja 2 peliä, ja useimmat lainat ovat voimassa neljä viikkoa.",
    "Ota yhteyttä",
]
