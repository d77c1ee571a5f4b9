"""Names that invented holders are given."""

# fmt: off
FIRST_NAMES = (
    "Adèle", "Aino", "Ana", "Anders", "Aoife", "Béla", "Bruno", "Camille", "Chiara",
    "Dario", "Elena", "Elif", "Emil", "Fatima", "Femke", "Filip", "Gabriel",
    "Greta", "Hugo", "Ilse", "Ines", "Ivan", "Jana", "Joris", "Katarina", "Lars",
    "Léa", "Liam", "Lotte", "Luca", "Magda", "Marco", "Maëlle", "Mirko", "Nadia",
    "Nils", "Noor", "Olga", "Oskar", "Paula", "Pedro", "Petra", "Rafael", "Rosa",
    "Sami", "Sanne", "Sofia", "Stefan", "Tomas", "Yara",
)
LAST_NAMES = (
    "Abbink", "Almeida", "Andersson", "Arvanitis", "Baumann", "Bélanger",
    "Bertrand", "Bianchi", "Braun", "Carvalho", "Castellano", "Claes", "Coppens",
    "Dahl", "Delacroix", "Dijkstra", "Dubois", "Eriksen", "Esposito", "Ferreira",
    "Fischer", "Fontaine", "García", "Girard", "Greco", "Hansen", "Horvat",
    "Jansen", "Kovács", "Kowalska", "Laurent", "Lefèvre", "Lindqvist", "Marchetti",
    "Moreau", "Murphy", "Navarro", "Nowak", "O'Brien", "Oliveira", "Peeters",
    "Petrov", "Richter", "Rossi", "Saarinen", "Santos", "Schäfer", "Silva", "Tamm",
    "Vermeulen", "Virtanen", "Weber", "Zieliński",
)
ADJECTIVES = (
    "Amber", "Blauwe", "Clear", "Eastern", "Grüne", "Haute", "Little", "Northern",
    "Old", "Quiet", "Rossa", "Silver", "Verde", "Western",
)
NOUNS = (
    "Anchor", "Bridge", "Canal", "Field", "Harbour", "Hill", "Lantern", "Mill",
    "Oak", "Orchard", "River", "Tower", "Valley", "Window",
)
TRADES = (
    "Capital", "Holding", "Invest", "Participations", "Partners", "Patrimoine",
    "Ventures",
)
