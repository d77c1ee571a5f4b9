"""The sandbox's companies, one to a line. All are invented."""
# ruff: noqa: E501

from typing import NamedTuple

from accounts.people.models import User

Form = User.LegalForm


class Company(NamedTuple):
    """`form` is None for an issuer whose owner is a person; revenue in euro cents."""

    name: str
    form: User.LegalForm | None
    country: str
    city: str
    address: str
    postal_code: str
    subsector_code: str
    tag_line: str
    activity: str
    market: str
    revenue_cents: int
    shareholders: int

    @property
    def slug(self) -> str:
        return self.name.lower().replace(" ", "-")

    @property
    def symbol(self) -> str:
        return self.name.split()[0].upper()


def euros(millions: float) -> int:
    return round(millions * 100_000_000)


COMPANIES = (
    Company("Lumarelle Optics", Form.SA, "FR", "Besançon", "14 rue des Verriers", "25000", "20102010", "Light, put to work in the operating theatre.", "grinds lenses and builds cameras for keyhole surgery", "Hospitals replace their endoscopes every six years, and half of Europe's are older.", euros(148.2), 5_000),
    Company("Brindavoine", Form.SAS, "FR", "Nantes", "3 quai des Avoines", "44000", "45102020", "Breakfast from fields we know.", "mills oats and makes cereals for schools and canteens", "Public canteens in France must buy half of their food from sustainable farms.", euros(31.7), 368),
    Company("Petit Galet", Form.SASU, "FR", "Étretat", "8 sente du Perrey", "76790", "40501025", "Six rooms above the sea, and then sixty.", "runs small hotels in former pilot houses on the coast", "Short stays on the Channel coast have grown for eight years.", euros(4.9), 212),
    Company("Ateliers Corvenne", Form.SARL, "FR", "Limoges", "27 avenue du Four", "87000", "40204030", "Porcelain that is meant to be used.", "fires tableware for restaurants and repairs what they break", "Restaurants spend about two per cent of their sales on tableware.", euros(7.3), 96),
    Company("Vergelune", Form.EURL, "FR", "Privas", "1 chemin des Châtaigniers", "07000", "45101015", "Orchards that sleep, casks that do not.", "presses pears and distils them", "Craft spirits take share from large brands in every country of the Union.", euros(1.8), 40),
    Company("Havrecourt Energies", Form.SCA, "FR", "Dunkerque", "90 route du Large", "59140", "65101010", "The wind pays rent here.", "builds and operates wind farms of twenty turbines and fewer", "Towns may take part in projects on their land since 2023.", euros(212.4), 780),
    Company("Dorvaux Transport", Form.SNC, "FR", "Metz", "5 rue de l'Écluse", "57000", "50206030", "Three rivers, one timetable.", "moves containers by barge between the Moselle and the Rhine", "A barge replaces sixty lorries, and tolls for lorries rise each January.", euros(44.6), 655),
    Company("Nordhavel Marine", Form.SE, "DE", "Kiel", "Fördeufer 12", "24103", "50202010", "Ferries that plug in.", "converts ferries to batteries and leases them the batteries", "Four hundred ferries in the Baltic are due for new engines by 2032.", euros(396.0), 880),
    Company("Steinquell Pumpen", Form.AG, "DE", "Göppingen", "Am Quellberg 7", "73033", "50204000", "Water goes up. We see to it.", "makes pumps for waterworks and breweries", "Waterworks must cut the power they use by a fifth within ten years.", euros(87.5), 530),
    Company("Kieselgrund Sensorik", Form.GMBH, "DE", "Jena", "Linsenweg 21", "07743", "50202025", "Measures what moves.", "makes gauges that watch bridges and tunnels", "Every federal bridge of Germany is to be watched by instruments from 2027.", euros(18.9), 430),
    Company("Moosbacher Brauhaus", Form.KGAA, "DE", "Regensburg", "Hopfengasse 2", "93047", "45101010", "Since the day before yesterday.", "brews beer without alcohol, and only that", "One beer in ten sold in Germany holds no alcohol.", euros(26.1), 287),
    Company("Polderwind Data", Form.NV, "NL", "Groningen", "Datakade 40", "9711", "10101010", "Servers that warm the neighbours.", "operates small data centres which heat homes", "Dutch towns look for sources of heat to replace gas.", euros(63.8), 440),
    Company("Grachtenlab", Form.BV, "NL", "Delft", "Schiehaven 9", "2611", "20103010", "Enzymes with manners.", "designs enzymes that take dyes out of waste water", "Textile makers pay for each kilogram of dye that leaves the mill.", euros(2.6), 318),
    Company("Valdastri Moto", Form.SPA, "IT", "Varese", "Via del Lago 33", "21100", "40101020", "Quiet is the new loud.", "builds electric motorcycles for police and post", "Two public fleets in three replace petrol scooters before 2030.", euros(119.3), 630),
    Company("Cantina Serrafiore", Form.SRL, "IT", "Asti", "Strada dei Filari 5", "14100", "45101015", "One hill, four wines.", "makes wine and sells it by subscription", "Wine sold directly earns the maker twice what a shop pays.", euros(5.4), 145),
    Company("Almendra Solar", Form.SL, "ES", "Córdoba", "Calle del Mediodía 18", "14001", "60102020", "Shade that earns.", "covers almond groves with solar panels on stilts", "Farmers with panels above their trees use a third less water.", euros(38.2), 990),
    Company("Harrowmere Foods", Form.PLC, "GB", "Hereford", "The Old Granary, Wye Street", "HR1 2AA", "45102020", "Peas, mostly.", "makes protein from peas for bakers and butchers", "British bakers look for flour with more protein and fewer imports.", euros(176.0), 820),
    Company("Tidewick Instruments", Form.LTD, "IE", "Galway", "2 Spanish Parade", "H91", "50202020", "Knows when the harbour is full.", "sells tide and current gauges to ports", "Ports that know the tide to the centimetre load deeper ships.", euros(9.7), 260),
    Company("Northquay Analytics", Form.LLC, "EE", "Tallinn", "Sadama 15", "10111", "30201030", "Numbers with a conscience.", "sells credit data about small companies, with the reasons", "Banks must explain a refused loan to the company that asked.", euros(12.4), 505),
    Company("Cedarfen Robotics", Form.INC, "LU", "Esch-sur-Alzette", "10 rue du Haut-Fourneau", "4362", "50204050", "Picks what people should not.", "builds robots that sort scrap metal", "Steel made from scrap needs a purity that hands cannot reach.", euros(54.9), 345),
    Company("Rosmarin Genossen", Form.COOPERATIVE, "AT", "Graz", "Kräuterweg 4", "8010", "45201010", "Owned by those who shop here.", "runs forty village shops", "Four hundred Austrian villages have lost their last shop since 2010.", euros(71.2), 2_875),
    Company("Lagoa Viva", Form.ASSOCIATION, "PT", "Aveiro", "Cais dos Moliceiros 6", "3800", "45102010", "A lagoon, kept by its fishers.", "farms mussels and clears the lagoon of weed", "Shellfish from clean water sell at half as much again.", euros(3.1), 188),
    Company("Ysselwater Institute", Form.OTHER, "BE", "Namur", "Quai de Meuse 11", "5000", "65102030", "Clean water has no brand.", "runs laboratories that test drinking water", "The Union's directive asks for forty new substances to be tested.", euros(14.5), 371),
    Company("Fjellsang Audio", None, "NO", "Bergen", "Strandkaien 3", "5013", "40203010", "Loudspeakers that leave room for the song.", "builds loudspeakers from driftwood and sells them by post", "Listeners who own records buy new loudspeakers every nine years.", euros(0.9), 72),
    Company("Kupferhain Recycling", Form.AG, "CH", "Winterthur", "Alte Giesserei 1", "8400", "65103035", "The mine is in the drawer.", "takes copper and gold out of old telephones", "Each household keeps eleven devices that no one uses.", euros(292.7), 696),
)  # fmt: skip
