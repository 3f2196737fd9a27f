"""The gallery's questions: for each study the populations, the pairs of policies, and what else is asked.

A place is a population where policies are valued: by the program, with options that name the population, or from what
happened in a table of the cache. Places of one colour are one population.
"""

EVENTS = ["ISC14", "NK14", "HTI14", "PE14", "DVT14", "NCB14"]


def stroke_cost(row):
    return sum(float(row[event]) for event in EVENTS) + 3 * (row["DDEAD"] == "Y")


def stroke_arm(row):
    return {("Y", "N"): "aspirin", ("N", "N"): "neither"}.get((row["RXASP"], row["RXHEP"]))


def place(name, colour, *options, kind="estimated", **happened):
    """Where policies are valued: by the program with these options, or from what happened in a table."""
    return {"name": name, "colour": colour, "kind": kind, "options": options, **happened}


# The newly infected: untreated by definition, and 73% men (MMWR 57(36), 2008).
NEWLY = ["--target-facts", "treated_before:no=1", "--target-facts", "sex:M=0.73,F=0.27"]

STUDIES = {
    "stroke": {
        "pairs": ["aspirin − neither"], "digits": 3,
        "places": [
            place("trial abroad", 0),
            place("UK, forecast", 1, "--target", "target/gallery/ist_uk.csv"),
            place("UK, what happened", 1, kind="happened", table="ist_uk.csv", cost=stroke_cost, arm=stroke_arm),
        ],
        "transfer": ["--target", "target/gallery/ist_uk.csv"],
        "compare": ["--target", "target/gallery/ist_uk.csv"],
    },
    "recommendations": {
        "pairs": ["bandit − uniform"], "digits": 4,
        "places": [
            place("men's campaign", 0),
            place("bandit's own log", 0, kind="happened", table="men_bts.csv", cost=lambda row: float(row["click"]),
                  arm=lambda row: "bandit"),
            place("everyone's visitors, forecast", 1, "--target", "target/gallery/all_random.csv"),
        ],
    },
    "training": {
        "pairs": ["training − none"], "digits": 3,
        "places": [
            place("trial", 0),
            place("PSID, forecast", 1, "--target", "target/gallery/psid.csv"),
            place("PSID, what happened", 1, kind="happened", table="psid.csv", cost=lambda row: float(row["idle78"]),
                  arm=lambda row: row["arm"]),
            place("CPS, forecast", 2, "--target", "target/gallery/cps.csv"),
            place("CPS, what happened", 2, kind="happened", table="cps.csv", cost=lambda row: float(row["idle78"]),
                  arm=lambda row: row["arm"]),
        ],
    },
    "classes": {
        "pairs": ["small − regular", "small − aide"], "digits": 1,
        "places": [
            place("richer schools", 0),
            place("poorer schools, forecast", 1, "--target", "target/gallery/star_poorer.csv"),
            place("poorer schools, what happened", 1, kind="happened", table="star_poorer.csv",
                  cost=lambda row: float(row["points"]), arm=lambda row: row["class"], cluster="school"),
        ],
        "transfer": ["--target", "target/gallery/star_poorer.csv"],
    },
    "antivirals": {
        "pairs": ["ZDV+ddC − ZDV+ddI", "ZDV+ddC − ZDV", "ZDV+ddI − ZDV"], "digits": 3,
        "places": [
            place("trial", 0),
            place("newly infected, forecast", 1, *NEWLY),
            place("the same, were 65% not white", 2, *NEWLY, "--target-facts", "race:white=0.35,other=0.65"),
        ],
        "learn": ["--policy", "groups:treated_before", "--radius", "0.1", "--against", "constant:ZDV+ddI"],
    },
    "results": {
        "pairs": ["up to 1 − nothing", "up to 1 − over 1"], "digits": 3,
        "places": [
            place("all villages", 0),
            place("half of the centres closed, forecast", 1, "--target-facts", "km:mean=2.85"),
        ],
        "transfer": ["--target-facts", "km:mean=2.85"],
    },
}
