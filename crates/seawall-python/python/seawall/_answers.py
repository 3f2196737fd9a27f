"""Answers as plain, typed data, with the names that the program's JSON has.

Made by `scripts/schema` from the types of seawall-study: not to be edited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from seawall._part import Part

if TYPE_CHECKING:
    from seawall.balance import Balance
    from seawall.checks import Check
    from seawall.compared import Compared
    from seawall.comparisons import Comparison, DifferenceValue
    from seawall.estimates import Nominal, NominalDifference, Transported
    from seawall.explanations import Explanation
    from seawall.learned import Learned
    from seawall.radii import Radius
    from seawall.results import Evaluation, PolicyResult, RobustValue
    from seawall.subgroups import ByLevel
    from seawall.targets import SampleDistance
    from seawall.transfers import Allowance, Backtest, LeftOutGroups, PastGroups, Transfer, Transfers

__all__ = [
    "ActionCoverage",
    "ActionFacts",
    "AdditiveModel",
    "Against",
    "Agreement",
    "AllowanceFields",
    "BacktestFields",
    "BalanceFields",
    "BeyondFacts",
    "BoostedModel",
    "Bounds",
    "Branch",
    "ByLevelFields",
    "CellsModel",
    "CheckFields",
    "Choice",
    "Claim",
    "ColumnBalance",
    "ComparedFields",
    "ComparedSet",
    "ComparisonFields",
    "ConfirmedRadius",
    "CostRadius",
    "Coverage",
    "Covers",
    "DifferenceValueFields",
    "Effect",
    "Estimand",
    "Estimate",
    "EvaluationFields",
    "ExplainedAction",
    "ExplainedModel",
    "ExplanationFields",
    "FactBalance",
    "Feared",
    "FeatureFacts",
    "ForestModel",
    "GroupBounds",
    "GroupScore",
    "HeldOutDifference",
    "HeldOutEstimate",
    "Honest",
    "HonestValue",
    "Importance",
    "JointEstimate",
    "LearnedFields",
    "LeftOut",
    "LeftOutGroupsFields",
    "LeftOutSet",
    "LevelAnswer",
    "Limits",
    "Mixture",
    "ModelRow",
    "NoWorse",
    "NominalFields",
    "NominalDifferenceFields",
    "OnLog",
    "Overlap",
    "PastGroupsFields",
    "PolicyRadii",
    "PolicyResultFields",
    "PolicyWorst",
    "ProcedureRecord",
    "PropensityFacts",
    "RadiusFields",
    "Range",
    "ReversingSubgroup",
    "RobustValueFields",
    "RobustnessRadius",
    "Runs",
    "SampleDistanceFields",
    "Schedule",
    "Spread",
    "Step",
    "StrataShift",
    "TableModel",
    "TargetDistance",
    "TargetFacts",
    "TransferFields",
    "TransfersFields",
    "TransportedFields",
    "TreeFacts",
    "TreeModel",
]

# The modules of the classes that say more than their fields.
MODULES = {
    "Allowance": "seawall.transfers",
    "Backtest": "seawall.transfers",
    "Balance": "seawall.balance",
    "ByLevel": "seawall.subgroups",
    "Check": "seawall.checks",
    "Compared": "seawall.compared",
    "Comparison": "seawall.comparisons",
    "DifferenceValue": "seawall.comparisons",
    "Evaluation": "seawall.results",
    "Explanation": "seawall.explanations",
    "Learned": "seawall.learned",
    "LeftOutGroups": "seawall.transfers",
    "Nominal": "seawall.estimates",
    "NominalDifference": "seawall.estimates",
    "PastGroups": "seawall.transfers",
    "PolicyResult": "seawall.results",
    "Radius": "seawall.radii",
    "RobustValue": "seawall.results",
    "SampleDistance": "seawall.targets",
    "Transfer": "seawall.transfers",
    "Transfers": "seawall.transfers",
    "Transported": "seawall.estimates",
}


@dataclass(frozen=True)
class ActionCoverage(Part):
    """How well one action's rows cover a target: shares of its people where there are fewer than 1, 5 and 20 rows.

    Attributes
    ----------
    name
        The action.
    cells
        In the very same context.
    leaves
        In the same leaf of the outcome model, on average over a forest's trees, if it has leaves.
    """

    name: str
    cells: tuple[float, float, float]
    leaves: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class ActionFacts(Part):
    """One action.

    Attributes
    ----------
    name
        Its name.
    rows
        Its rows.
    mean
        Their mean outcome.
    observed_cells_without
        Observed contexts in which it was never taken.
    cells_without
        Contexts of the whole space in which it was never taken.
    unseen
        Contexts of the support in which the outcome model has no value of its own for it.
    leaves
        Its leaves in the outcome model, if that has any.
    smallest_leaf
        Rows of the smallest one.
    tree
        Its tree's settings, if it has one.
    """

    name: str
    rows: float
    mean: float
    observed_cells_without: int
    cells_without: int
    unseen: int
    leaves: int | None
    smallest_leaf: float | None
    tree: TreeFacts | None


@dataclass(frozen=True)
class AdditiveModel(Part):
    """A sum of what each feature adds.

    Attributes
    ----------
    base
        The mean that everything is added to.
    penalty
        The penalty, in rows.
    effects
        What each feature adds, and each pair of features.
    """

    base: float
    penalty: float
    effects: list[Effect]


@dataclass(frozen=True)
class Against(Part):
    """A baseline that a policy was learned against.

    Attributes
    ----------
    policy
        The baseline.
    no_worse
        Whether it is certified that the policy is no worse than the baseline in any population of the set.
    nominal_difference
        The difference to it if nothing shifts, by the outcome model.
    """

    policy: str
    no_worse: bool
    nominal_difference: float


@dataclass(frozen=True)
class Agreement(Part):
    """Which sets agree.

    Attributes
    ----------
    agree
        Whether one policy is among the best of every set that counts; None if there is one policy, or no set
        that counts.
    choices
        The policies that are among the best, those of most sets first; none if there is one policy.
    fears
        What is feared, by most sets first.
    sentences
        The same in sentences.
    """

    agree: bool | None
    choices: list[Choice]
    fears: list[Feared]
    sentences: list[str]


@dataclass(frozen=True)
class AllowanceFields(Part):
    """What an allowance is made of.

    Attributes
    ----------
    sampling
        Noise of the estimate and of what groups really cost.
    between
        Groups that differ by more than noise.
    couplings
        Columns that go together otherwise than in the log.
    """

    sampling: float
    between: float
    couplings: float


@dataclass(frozen=True)
class BacktestFields(Part):
    """How every procedure did on every past group.

    Attributes
    ----------
    by
        What groups are recorded by.
    policy
        The policy.
    level
        How often bounds are to hold.
    direction
        Whether lower or higher is better.
        `"lower is better"`: higher values are worse: the worst case is the largest mean; `"higher is better"`:
        lower values are worse: the worst case is the smallest mean.
    in_time
        Whether groups were predicted from earlier ones only.
    radius
        The radius of the ball.
    procedures
        Procedure by procedure.
    groups
        Group by group.
    left_out
        Groups that are not counted.
    recommended
        The procedure with the least excess among those that held as often as they should.
        `"nominal"`: nothing shifts; `"ball"`: the plain ball; `"balanced"`: the balanced log; `"couplings"`:
        the worst coupling of what is known; `"history"`: what past groups needed.
    notes
        Why, and what else to know.
    """

    by: str
    policy: str
    level: float
    direction: Literal["lower is better", "higher is better"]
    in_time: bool
    radius: float
    procedures: list[ProcedureRecord]
    groups: list[GroupBounds]
    left_out: LeftOutGroups
    recommended: Literal["nominal", "ball", "balanced", "couplings", "history"]
    notes: list[str]


@dataclass(frozen=True)
class BalanceFields(Part):
    """What a balance has to say for itself.

    Attributes
    ----------
    status
        How far it went.
        `"matched"`: every fact is met; `"matched in part"`: some of the log's own margins are mixed in, or some
        of the target has levels that no row of the log has; `"by odds"`: rows weigh by the odds of belonging to
        a sample of the target, which make no mean exactly that of the sample.
    mixed
        The share of the log's own margins mixed in.
    effective_rows
        How many rows each action's weighted ones are worth.
    unseen
        The target's share on levels that no row of the log has.
    columns
        Column by column.
    facts
        Fact by fact.
    """

    status: Literal["matched", "matched in part", "by odds"]
    mixed: float
    effective_rows: dict[str, float]
    unseen: float
    columns: list[ColumnBalance]
    facts: list[FactBalance]


@dataclass(frozen=True)
class BeyondFacts(Part):
    """A column's values that the log does not have.

    Attributes
    ----------
    column
        The column.
    values
        The values, or the middles of the bins.
    share
        The share of the target's people who have them.
    """

    column: str
    values: list[str]
    share: float


@dataclass(frozen=True)
class BoostedModel(Part):
    """Boosted trees.

    Attributes
    ----------
    rounds
        How many.
    depth
        Splits from a tree's root to a leaf, at most.
    shrinkage
        What each tree's values are multiplied by.
    importance
        What each feature is worth, the most first.
    """

    rounds: int
    depth: int
    shrinkage: float
    importance: list[Importance]


@dataclass(frozen=True)
class Bounds(Part):
    """The paper's finite-sample bound, term by term.

    Attributes
    ----------
    delta
        The probability of error.
    total
        The bound on the error of a robust value.
    sampling
        The sampling of contexts.
    contexts
        The number of contexts.
    costs
        Estimating every cost at once.
    outcomes
        The number of outcomes.
    smoothing
        The smoothing, of contexts and of costs.
    needed_rows
        Rows that the theorem asks for.
    rows
        Rows that there are.
    holds
        Whether they are enough.
    smallest_context_mass
        μ_x, estimated.
    smallest_propensity
        μ_π, estimated.
    largest_outcome
        Y_max.
    """

    delta: float
    total: float
    sampling: float
    contexts: float
    costs: float
    outcomes: float
    smoothing: float
    needed_rows: float
    rows: float
    holds: bool
    smallest_context_mass: float
    smallest_propensity: float
    largest_outcome: float


@dataclass(frozen=True)
class Branch(Part):
    """A branch of a tree.

    Attributes
    ----------
    depth
        Splits above it.
    when
        Who comes here, in words; none at the root.
    rows
        Its rows.
    mean
        Their mean outcome.
    leaf
        Whether it is not split further.
    """

    depth: int
    when: str | None
    rows: float
    mean: float
    leaf: bool


@dataclass(frozen=True)
class ByLevelFields(Part):
    """The answers by level.

    Attributes
    ----------
    column
        The column.
    confidence
        The level of confidence of each level's limits and intervals.
    simultaneous
        Whether they hold for all levels at once.
    levels
        The answers.
    """

    column: str
    confidence: float | None
    simultaneous: bool
    levels: list[LevelAnswer]


@dataclass(frozen=True)
class CellsModel(Part):
    """Every context by itself.

    Attributes
    ----------
    cells
        Contexts with rows.
    """

    cells: int


@dataclass(frozen=True)
class CheckFields(Part):
    """The answer to `check`: facts about the data, and what to know before trusting a number.

    Attributes
    ----------
    files
        The data files.
    rows_read
        Rows read.
    left_out
        Rows left out, by reason.
    rows
        Rows used, or their weights' sum.
    direction
        Whether lower or higher is better.
        `"lower is better"`: higher values are worse: the worst case is the largest mean; `"higher is better"`:
        lower values are worse: the worst case is the smallest mean.
    actions
        Each action's rows and mean outcome.
    features
        Each context column.
    scale
        How the columns' costs are scaled.
        `"range"`: crossing the whole range of a column, or any change of a nominal one, costs 1; `"spread"`:
        two people drawn at random are 1 apart in each column, on average.
    cells
        Points of the context space.
    observed_cells
        Those with rows.
    needed_cells
        Contexts in which the outcome model must have values: the support's.
    grid
        Whether the space is every combination of levels, rather than the contexts seen.
    support
        Which contexts mass may move to.
        `"grid"`: every point of the context space; `"observed"`: those of the log; `"space"`: every value
        between each column's ends, every level, every combination, listed or not. Needs values and policies
        made of steps (`are_everywhere`).
    outcomes
        Points of the outcome space.
    outcome_range
        The lowest and the highest value of an outcome.
    propensity
        The propensities.
    model
        The outcome model: `tree`, `additive`, `forest`, `boosted`, `cells`, `table`, `column` or `learner`.
        `"cells"`: every context and action by itself; `"tree"`: a regression tree per action; `"forest"`:
        averaged trees per action; `"boosted"`: boosted trees per action; `"additive"`: a sum of what each
        feature adds, per action; `"table"`: values that the user brings, by context; `"column"`: values that
        the user brings, row by row; `"learner"`: a learner of the user's own.
    unseen
        What to do about contexts where an action has no value of its own.
        `"error"`: refuse, and say how many there are; `"mean"`: the action's mean over the whole log, at the
        same radius; `"worst"`: the worst value of any outcome.
    notes
        What a reader should know before trusting a number.
    effective_rows
        How many rows of equal weight a survey's weights leave; None where weights count rows.
    clusters
        Clusters, if rows are in any.
    models
        The kinds that it was chosen from, simplest first, where the study leaves that open.
    target
        The study's target and how well the data cover it, where the data alone are checked.
    balance
        How the data can be reweighted to what is known of the target, where the data alone are checked.
    """

    files: list[str]
    rows_read: int
    left_out: LeftOut
    rows: float
    direction: Literal["lower is better", "higher is better"]
    actions: list[ActionFacts]
    features: list[FeatureFacts]
    scale: Literal["range", "spread"]
    cells: int
    observed_cells: int
    needed_cells: int
    grid: bool
    support: Literal["grid", "observed", "space"]
    outcomes: int
    outcome_range: tuple[float, float]
    propensity: PropensityFacts
    model: Literal["cells", "tree", "forest", "boosted", "additive", "table", "column", "learner"]
    unseen: Literal["error", "mean", "worst"]
    notes: list[str]
    effective_rows: float | None = None
    clusters: int | None = None
    models: list[ModelRow] = field(default_factory=list)
    target: TargetFacts | None = None
    balance: Balance | None = None


@dataclass(frozen=True)
class Choice(Part):
    """A policy and the sets among whose best it is.

    Attributes
    ----------
    policy
        The policy.
    sets
        The sets.
    """

    policy: str
    sets: list[str]


@dataclass(frozen=True)
class Claim(Part):
    """A confidence statement.

    Attributes
    ----------
    estimand
        What is estimated.
    populations
        The populations that it is about: "within … of the data".
    statement
        What is said of them.
        `"none-worse"`: none is worse than the value; `"some-as-bad"`: one is at least as bad as the value.
    value
        The number that is not passed.
    level
        The confidence, of all that is claimed of policies, or of pairs, together.
    assumes
        What is taken for granted of the model; None if nothing is.
    conditions
        The conditions under which it holds.
    simulated
        Where it was simulated how often such claims are true.
    sentence
        All that in a sentence.
    """

    estimand: Estimand
    populations: str
    statement: Literal["none-worse", "some-as-bad"]
    value: float
    level: float
    assumes: Literal["pairwise", "additive", "constant-effect", "additive-effect", "tree-effect", "model", "no-splits"] | None
    conditions: list[Literal["stable-outcomes", "random-by-design", "random-given-columns", "overlap"]]
    simulated: str
    sentence: str


@dataclass(frozen=True)
class ColumnBalance(Part):
    """One column before and after: the standardised difference to what is known of it.

    Attributes
    ----------
    name
        The column.
    before
        In the log. Of a mean `(target − log)/sd`, signed; of shares the largest `|b − p| / √((p(1−p) +
        b(1−b))/2)`, as trialists have it.
    after
        In the weighted log, by the same spread.
    unseen
        The target's share on levels of the column that no row of the log has.
    """

    name: str
    before: float
    after: float
    unseen: float


@dataclass(frozen=True)
class ComparedFields(Part):
    """The same policies under several sets, at radii that are comparable.

    Attributes
    ----------
    direction
        Whether lower or higher is better.
        `"lower is better"`: higher values are worse: the worst case is the largest mean; `"higher is better"`:
        lower values are worse: the worst case is the smallest mean.
    covers
        What every radius was chosen to cover.
    policies
        The policies, in order; the first is the one whose value is covered.
    sets
        Set by set.
    agreement
        Which sets agree on the decision, and what they fear.
    notes
        What else to know.
    on_log
        Whether the log itself tells the policy of most sets from the others; None if there is one policy or no
        set that counts.
    left_out
        Sets that nobody asked about, each with the reason.
    """

    direction: Literal["lower is better", "higher is better"]
    covers: Covers
    policies: list[str]
    sets: list[ComparedSet]
    agreement: Agreement
    notes: list[str]
    on_log: OnLog | None = None
    left_out: list[LeftOutSet] = field(default_factory=list)


@dataclass(frozen=True)
class ComparedSet(Part):
    """One set.

    Attributes
    ----------
    set
        The set, with its parameters.
    away
        What a radius measures.
    radius
        Its radius; infinite (null) where there is none.
    beyond
        Whether its worst case is beyond that already at radius 0. Then it says nothing at a radius that is
        comparable, and does not count among those that agree.
    policies
        The policies' worst cases, in their order; none without an answer.
    best
        The policies whose worst case is best as fitted: several where the bounds do not tell them apart.
    told
        Whether the log itself tells the only best one from every other; None where several are best or there
        are no others.
    no_worse
        Whether the first of them is, as fitted, no worse than the others in every population of the set; None
        if there are no others or nobody can tell.
    fears
        What changes most in the population where the best policy is worst: `higher AGE`.
    unseen
        The share of that population where nobody was seen.
    covers
        What the first policy's worst case is to reach under this set; None where radii contain people or there
        is no radius.
    why
        Why it has no radius or no answer.
    """

    _infinite: ClassVar[tuple[str, ...]] = ("radius",)

    set: str
    away: str
    radius: float
    beyond: bool
    policies: list[PolicyWorst]
    best: list[str]
    told: bool | None
    no_worse: NoWorse | None
    fears: str | None
    unseen: float | None
    covers: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class ComparisonFields(Part):
    """One policy against another, in the same population.

    Attributes
    ----------
    policy
        The policy.
    against
        The other.
    nominal
        By how much its value is above the other's if nothing shifts.
    robustness_radius
        The largest radius within which it is no worse than the other in every population, at the first cost
        radius.
    results
        The differences: every context radius at every cost radius.
    target
        By how much in the target, if there is one.
    effect
        How the difference is modelled: as an effect of its own; None where it is by the model of outcomes.
    robustness_radii
        The same at every cost radius, if there are several.
    reversed_by
        What kind of population would reverse it just beyond the robustness radius, in a few words.
    """

    policy: str
    against: str
    nominal: NominalDifference
    robustness_radius: RobustnessRadius
    results: list[DifferenceValue]
    target: Transported | None = None
    effect: Literal["constant", "additive", "tree"] | None = None
    robustness_radii: list[RobustnessRadius] = field(default_factory=list)
    reversed_by: str | None = None


@dataclass(frozen=True)
class ConfirmedRadius(Part):
    """The largest radius within which a policy is better with confidence.

    Attributes
    ----------
    in_class
        Assuming the class of the difference's model.
    pairwise
        Also if pairs of columns act together beyond the model; None where that was not worked out.
    up_to
        The largest radius that was asked about: a radius that is equal to it may be larger.
    """

    in_class: float
    pairwise: float | None
    up_to: float


@dataclass(frozen=True)
class CostRadius(Part):
    """Cost radii of the order `n^(−1/2)` in a leaf of n rows (`outcome_radii`); None of a model without leaves.

    Attributes
    ----------
    constant
        The constant of the median leaf: its suggestion is this over the root of its rows.
    median_rows
        Its rows.
    median
        Its suggestion.
    smallest_leaf
        The smallest leaf's suggestion.
    """

    constant: float | None
    median_rows: float | None
    median: float | None
    smallest_leaf: float | None


@dataclass(frozen=True)
class Coverage(Part):
    """How well a log covers a target.

    Attributes
    ----------
    unobserved
        The share of the target's people whose context the log never has.
    effective_rows
        `(Σ ω)² / Σ ω²` over the log's rows: how many rows the reweighted log is worth, times the share of the
        target that rows of the log can stand for.
    largest_odds
        The largest odds of a row of the log, 1 being the mean.
    actions
        Action by action.
    """

    unobserved: float
    effective_rows: float
    largest_odds: float
    actions: list[ActionCoverage]


@dataclass(frozen=True)
class Covers(Part):
    """What every radius was chosen to cover.

    Attributes
    ----------
    goal
        What radii are chosen by.
        `"target"`: another population: a sample of it, or what is known of it; `"group"`: a recorded group that
        was left out of the log; `"chance"`: the noise of the estimate without a shift.
    containing
        Whether each is the least that contains the people, and not the least that reaches the value.
    policy
        The policy whose value is covered: the first one.
    value
        The value that its worst case is to reach.
    nominal
        What it costs where nothing shifts, which worst cases start from.
    sentence
        All that in a sentence or two.
    name
        The target's file, or the group.
    by
        What groups are named by.
    estimate
        Its estimate in the target or the group, if there is one.
    lacking
        The share of the target's or the group's people in contexts that the log lacks, if they are known.
    """

    goal: Literal["target", "group", "chance"]
    containing: bool
    policy: str
    value: float
    nominal: float
    sentence: str
    name: str | None = None
    by: str | None = None
    estimate: Estimate | None = None
    lacking: float | None = None


@dataclass(frozen=True)
class DifferenceValueFields(Part):
    """The worst and the best difference within one radius.

    Attributes
    ----------
    radius
        The radius; infinite (null) where there is none.
    cost_radius
        The cost radius.
    worst
        The policy less the other in the population where that is worst for the policy.
    best
        In the population where it is best.
    lower
        The worst difference is not below this.
    upper
        The worst difference is not above this.
    gap
        How far apart these bounds are.
    status
        How the solves ended.
        `"optimal"`: the bounds agree to the tolerance; `"inexact"`: the bounds hold but are further apart than
        the tolerance: rounding, or the limit on evaluations, came first; `"stopped"`: the bounds hold; the
        watcher asked to stop.
    best_lower
        The best difference is not below this.
    best_upper
        The best difference is not above this.
    verdict
        What can be said of the policy beside the other.
        `"better"`: it is better in every population, with confidence; `"worse"`: it is worse in every
        population, with confidence; `"depends"`: with confidence there is a population in which it is better,
        and one in which it is worse; `"undecided"`: none of these is established.
    claims
        The claims, that of most use first.
    unobserved_mass
        The share of the worst population on contexts never observed; None where it was not looked at.
    held_out
        What the population found on one part of the rows makes of the worst difference on the other; None
        without splits.
    limits
        Confidence limits of the worst difference; None without splits.
    best_held_out
        The same of the best difference.
    best_limits
        The same of the best difference.
    assumes
        What better or worse takes for granted of the model; with `pairwise` it is the strict verdict.
    established
        If undecided: what is established of some population, though not of all.
    reversed_by_subgroup
        The largest subgroup by two columns that the model does not have, that would reverse the verdict, and
        that the data do not exclude.
    no_claim
        Why there are none.
    """

    _infinite: ClassVar[tuple[str, ...]] = ("radius",)

    radius: float
    cost_radius: float
    worst: float
    best: float
    lower: float
    upper: float
    gap: float
    status: Literal["optimal", "inexact", "stopped"]
    best_lower: float
    best_upper: float
    verdict: Literal["better", "worse", "depends", "undecided"]
    claims: list[Claim]
    unobserved_mass: float | None
    held_out: HeldOutEstimate | None
    limits: Limits | None
    best_held_out: HeldOutEstimate | None
    best_limits: Limits | None
    assumes: Literal["pairwise", "additive", "constant-effect", "additive-effect", "tree-effect", "model", "no-splits"] | None = None
    established: Literal["somewhere-better", "somewhere-worse"] | None = None
    reversed_by_subgroup: ReversingSubgroup | None = None
    no_claim: str | None = None


@dataclass(frozen=True)
class Effect(Part):
    """What a feature or a pair adds.

    Attributes
    ----------
    features
        The feature, or the two of a pair.
    in_order
        Whether its steps are in order: a curve.
    steps
        Its steps; a missing one last.
    """

    features: list[str]
    in_order: bool
    steps: list[Step]


@dataclass(frozen=True)
class Estimand(Part):
    """What a claim is about.

    Attributes
    ----------
    policy
        The policy whose mean outcome it is.
    against
        The policy whose mean outcome is subtracted, if it is a difference.
    """

    policy: str
    against: str | None = None


@dataclass(frozen=True)
class Estimate(Part):
    """An estimate with its standard error and confidence interval.

    Attributes
    ----------
    value
        The estimate.
    se
        Its standard error.
    lower
        The lower end of the confidence interval; None where rows are too few for one.
    upper
        The upper end of the confidence interval; None where rows are too few for one.
    """

    value: float
    se: float
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class EvaluationFields(Part):
    """All answers, as plain data.

    Attributes
    ----------
    rows
        Rows used, or their weights' sum.
    left_out
        Rows left out.
    actions
        Each action's rows.
    cells
        Points of the context space.
    observed_cells
        Those with rows.
    direction
        Whether lower or higher is better.
        `"lower is better"`: higher values are worse: the worst case is the largest mean; `"higher is better"`:
        lower values are worse: the worst case is the smallest mean.
    diagnostics
        Facts about the data.
    policies
        The answers, policy by policy.
    target
        The target that the worst cases start from, if there is one.
    balance
        How the log was made what is known of the target, if something is and there is no sample of it: then
        worst cases start from there.
    comparisons
        Every pair of policies in one population, in both orders.
    by
        The same within each level of a column, if asked for.
    bounds
        The paper's finite-sample bound, if asked for.
    """

    rows: float
    left_out: int
    actions: dict[str, float]
    cells: int
    observed_cells: int
    direction: Literal["lower is better", "higher is better"]
    diagnostics: Check
    policies: list[PolicyResult]
    target: TargetFacts | None = None
    balance: Balance | None = None
    comparisons: list[Comparison] = field(default_factory=list)
    by: ByLevel | None = None
    bounds: Bounds | None = None


@dataclass(frozen=True)
class ExplainedAction(Part):
    """What one action's values hang on.

    Attributes
    ----------
    name
        The action.
    rows
        Its rows.
    mean
        Their mean outcome.
    model
        The model.
    """

    name: str
    rows: float
    mean: float
    model: ExplainedModel


@dataclass(frozen=True)
class ExplainedModel(Part):
    """One action's model.

    Attributes
    ----------
    cells
        Every context by itself.
    tree
        A regression tree.
    additive
        A sum of what each feature adds.
    forest
        Averaged trees.
    boosted
        Boosted trees.
    table
        Values that were handed in.
    """

    cells: CellsModel | None = None
    tree: TreeModel | None = None
    additive: AdditiveModel | None = None
    forest: ForestModel | None = None
    boosted: BoostedModel | None = None
    table: TableModel | None = None


@dataclass(frozen=True)
class ExplanationFields(Part):
    """A fitted model, told.

    Attributes
    ----------
    kind
        Its kind.
        `"cells"`: every context and action by itself; `"tree"`: a regression tree per action; `"forest"`:
        averaged trees per action; `"boosted"`: boosted trees per action; `"additive"`: a sum of what each
        feature adds, per action; `"table"`: values that the user brings, by context; `"column"`: values that
        the user brings, row by row; `"learner"`: a learner of the user's own.
    direction
        Whether lower or higher is better.
        `"lower is better"`: higher values are worse: the worst case is the largest mean; `"higher is better"`:
        lower values are worse: the worst case is the smallest mean.
    actions
        Action by action.
    """

    kind: Literal["cells", "tree", "forest", "boosted", "additive", "table", "column", "learner"]
    direction: Literal["lower is better", "higher is better"]
    actions: list[ExplainedAction]


@dataclass(frozen=True)
class FactBalance(Part):
    """One fact before and after.

    Attributes
    ----------
    name
        In words: `mean of AGE`, `share of SEX=F`.
    wanted
        What is known.
    before
        What it is in the log.
    after
        What it is in the weighted log.
    """

    name: str
    wanted: float
    before: float
    after: float


@dataclass(frozen=True)
class Feared(Part):
    """A change and the sets that fear it.

    Attributes
    ----------
    change
        The change; None if nothing changes.
    sets
        The sets.
    """

    change: str | None
    sets: list[str]


@dataclass(frozen=True)
class FeatureFacts(Part):
    """One context column.

    Attributes
    ----------
    name
        Its name.
    kind
        Its kind.
        `"numeric"`: the squared difference; `"ordinal"`: the squared difference of the levels' positions;
        `"nominal"`: the same for any change; `"fixed"`: no change is possible.
    levels
        How many levels it has.
    ends
        The first and the last level, or the lowest and the highest.
    missing
        The share of rows in which it is missing.
    empty_levels
        Levels without rows.
    weight
        What multiplies its cost.
    buys
        What a cost of 0.1 buys, in words.
    bin
        The width of its bins, if numbers are binned.
    """

    name: str
    kind: Literal["numeric", "ordinal", "nominal", "fixed"]
    levels: int
    ends: tuple[str, str]
    missing: float
    empty_levels: int
    weight: float | None
    buys: str
    bin: float | None = None


@dataclass(frozen=True)
class ForestModel(Part):
    """Averaged trees.

    Attributes
    ----------
    trees
        How many.
    leaves
        Their leaves, on average.
    importance
        What each feature is worth, the most first.
    """

    trees: int
    leaves: float
    importance: list[Importance]


@dataclass(frozen=True)
class GroupBounds(Part):
    """A group, and every procedure's bound.

    Attributes
    ----------
    group
        Its name.
    rows
        Its rows.
    real
        What it really cost.
    bounds
        The bounds, by procedure.
    """

    group: str
    rows: float
    real: float
    bounds: dict[str, float]


@dataclass(frozen=True)
class GroupScore(Part):
    """A past group.

    Attributes
    ----------
    group
        Its name.
    rows
        Its rows.
    predicted
        What the log without it predicted.
    real
        What it really cost.
    real_se
        The standard error of that.
    score
        What it cost more than predicted (brought less): what the allowance had to be.
    held
        Whether the allowance would have been enough.
    """

    group: str
    rows: float
    predicted: float
    real: float
    real_se: float
    score: float
    held: bool


@dataclass(frozen=True)
class HeldOutDifference(Part):
    """A mean over held-out halves with its half-sample standard error `√mean (Δ_AB − Δ_BA)²/4`.

    Attributes
    ----------
    value
        The mean.
    se
        Its standard error.
    """

    value: float
    se: float


@dataclass(frozen=True)
class HeldOutEstimate(Part):
    """What the worst population found on one part of the rows costs on the other, over many sample splits.

    Attributes
    ----------
    value
        The value.
    se
        Its standard error.
    """

    value: float
    se: float


@dataclass(frozen=True)
class Honest(Part):
    """Held-out values: learned on one half of the rows, valued on the other, in both directions of several sample
    splits.

    Attributes
    ----------
    value
        The mean held-out worst case; of worst differences to the baseline, if it was learned against one.
    worst_case
        The mean held-out worst case.
    nominal_value
        The mean of the held-out doubly robust estimates.
    splits
        How many sample splits there were.
    halves
        What `value` is the mean of: two numbers a split.
    best_constant
        The best constant policy, chosen and valued on the same halves.
    baseline
        The baseline: the policy learned against, else what the log did.
    """

    value: float
    worst_case: float
    nominal_value: float
    splits: int
    halves: list[float]
    best_constant: HonestValue
    baseline: HonestValue


@dataclass(frozen=True)
class HonestValue(Part):
    """A policy valued on the same held-out rows, and the learned policy's difference to it.

    Attributes
    ----------
    policy
        The policy; several names if the halves chose differently.
    value
        The mean held-out worst case.
    nominal_value
        The mean of the held-out doubly robust estimates.
    difference
        The learned policy's worst case less this one's.
    nominal_difference
        The learned policy's doubly robust estimate less this one's.
    """

    policy: str
    value: float
    nominal_value: float
    difference: HeldOutDifference
    nominal_difference: HeldOutDifference


@dataclass(frozen=True)
class Importance(Part):
    """What a feature is worth to a model.

    Attributes
    ----------
    feature
        The feature.
    share
        Its share in lowering the squared error.
    """

    feature: str
    share: float


@dataclass(frozen=True)
class JointEstimate(Part):
    """An estimated worst case with its standard error and degrees of freedom.

    Attributes
    ----------
    value
        The estimate.
    se
        Its standard error.
    lower
        The lower end of the confidence interval; None where rows are too few for one.
    upper
        The upper end of the confidence interval; None where rows are too few for one.
    freedom
        The degrees of freedom of the standard error, by which Student's quantile is taken.
    """

    _infinite: ClassVar[tuple[str, ...]] = ("freedom",)

    value: float
    se: float
    lower: float | None
    upper: float | None
    freedom: float


@dataclass(frozen=True)
class LearnedFields(Part):
    """A learned policy and what is known of it, as plain data.

    Attributes
    ----------
    policy
        The policy's name.
    method
        How it was found.
        `"exact"`: exactly, with bounds that meet but for the gap; `"gradient"`: by exact gradients: a local
        optimum; `"bsgd"`: by stochastic gradients.
    set
        The set of contexts.
    radius
        Its radius; infinite (null) where there is none.
    cost_set
        The set of outcomes.
    cost_radius
        Its radius.
    support
        Which contexts mass may move to.
        `"grid"`: every combination of levels; `"observed"`: the contexts observed; `"space"`: anywhere between
        each column's ends, listed or not; `"sampled"`: combinations drawn, as they are too many to list; the
        value is over those observed.
    direction
        Whether lower or higher is better.
        `"lower is better"`: higher values are worse: the worst case is the largest mean; `"higher is better"`:
        lower values are worse: the worst case is the smallest mean.
    value
        The number that was found; of a worst case the bound on the safe side.
    lower
        The truth is not below this.
    upper
        The truth is not above this.
    gap
        How far apart the bounds are.
    status
        How the optimisation ended.
        `"optimal"`: the bounds agree to the tolerance; `"inexact"`: the bounds hold but are further apart than
        the tolerance: rounding, or the limit on evaluations, came first; `"stopped"`: the bounds hold; the
        watcher asked to stop.
    iterations
        Steps taken.
    greedy_floor
        No policy whatever has a better worst case than this.
    greedy
        Bounds of the greedy policy's worst case, the side that is not the floor among them.
    nominal_value
        The policy's mean if nothing shifts, or in the target if there is one, by the outcome model.
    parameters
        What the policy does.
    seconds
        How long it took.
    column_radii
        What moves along single columns may cost on average, where that is said by column.
    exact_lower
        With an entropic set of contexts: bounds of the policy's exact worst case, for the smoothed value alone
        is none.
    exact_upper
        See `exact_lower`.
    mixture
        For trees: the best mixture of them.
    runs
        For stochastic runs: λ, and the mean and spread of the runs' own worst cases.
    against
        What it was learned against, if anything: then value and bounds are worst-case differences.
    balance
        How the log was made what is known of the target, if something is and there is no sample of it.
    honest
        The value on rows that did not choose the policy, unless it was not wanted.
    no_honest
        Why there is none though it was wanted.
    groups
        The value on past groups that did not choose the policy, if it was asked for.
    """

    _infinite: ClassVar[tuple[str, ...]] = ("radius",)

    policy: str
    method: Literal["exact", "gradient", "bsgd"]
    set: str
    radius: float
    cost_set: str
    cost_radius: float
    support: Literal["grid", "observed", "space", "sampled"]
    direction: Literal["lower is better", "higher is better"]
    value: float
    lower: float
    upper: float
    gap: float
    status: Literal["optimal", "inexact", "stopped"]
    iterations: int
    greedy_floor: float
    greedy: Range
    nominal_value: float
    parameters: Any
    seconds: float
    column_radii: dict[str, float] = field(default_factory=dict)
    exact_lower: float | None = None
    exact_upper: float | None = None
    mixture: Mixture | None = None
    runs: Runs | None = None
    against: Against | None = None
    balance: Balance | None = None
    honest: Honest | None = None
    no_honest: str | None = None
    groups: PastGroups | None = None


@dataclass(frozen=True)
class LeftOut(Part):
    """Rows left out, by reason.

    Attributes
    ----------
    conditions
        They do not meet the study's conditions.
    no_action
        They meet no action.
    no_outcome
        They have no outcome, and the study says to leave such rows out.
    """

    conditions: int
    no_action: int
    no_outcome: int


@dataclass(frozen=True)
class LeftOutGroupsFields(Part):
    """Groups that are not counted, and why.

    Attributes
    ----------
    few_rows
        Too few rows.
    lacking_action
        No row of one of the actions.
    unmatched
        The rest of the log cannot be made like them, or lacks an action.
    """

    few_rows: int
    lacking_action: int
    unmatched: int


@dataclass(frozen=True)
class LeftOutSet(Part):
    """A set that nobody asked about.

    Attributes
    ----------
    set
        Its name.
    why
        Why.
    """

    set: str
    why: str


@dataclass(frozen=True)
class LevelAnswer(Part):
    """The answers within one level.

    Attributes
    ----------
    level
        The level.
    rows
        Its rows, or their weights' sum.
    evaluation
        The answers; None where there are none, and why.
    problem
        Why there are none.
    """

    level: str
    rows: float
    evaluation: Evaluation | None
    problem: str | None = None


@dataclass(frozen=True)
class Limits(Part):
    """Confidence limits of a worst case: each one-sided, together an interval of their level.

    Attributes
    ----------
    lower
        The lower limit.
    upper
        The upper limit.
    level
        Their level.
    in_class
        The end on the bad side if the class of the fitted model holds: `upper` for costs, `lower` for rewards,
        is this and an allowance for effects of single columns that the model missed.
    pairwise
        The end on the bad side that also allows for effects of pairs of columns; None where those were not
        computed.
    """

    lower: float
    upper: float
    level: float
    in_class: float
    pairwise: float | None


@dataclass(frozen=True)
class Mixture(Part):
    """A mixture of trees.

    Attributes
    ----------
    value
        Its worst case.
    lower
        See `lower`.
    upper
        See `upper`.
    parts
        The shares and rules of its trees.
    """

    value: float
    lower: float
    upper: float
    parts: list[Any]


@dataclass(frozen=True)
class ModelRow(Part):
    """One kind of model beside the others.

    Attributes
    ----------
    kind
        The kind.
        `"cells"`: every context and action by itself; `"tree"`: a regression tree per action; `"forest"`:
        averaged trees per action; `"boosted"`: boosted trees per action; `"additive"`: a sum of what each
        feature adds, per action; `"table"`: values that the user brings, by context; `"column"`: values that
        the user brings, row by row; `"learner"`: a learner of the user's own.
    error
        Its mean squared error on rows left out.
    se
        The standard error of that over the folds.
    above
        By how much the error is above the lowest one.
    above_se
        The standard error of that.
    chosen
        Whether this kind was chosen.
    plug_in
        The plug-in worst case of this kind.
    held_out
        The same of populations found on one part of the rows and valued on the other.
    gap
        How much of the worst case may be noise: plug-in less held-out.
    """

    kind: Literal["cells", "tree", "forest", "boosted", "additive", "table", "column", "learner"]
    error: float
    se: float
    above: float
    above_se: float
    chosen: bool
    plug_in: float | None = None
    held_out: float | None = None
    gap: float | None = None


@dataclass(frozen=True)
class NoWorse(Part):
    """Whether a policy is no worse than the others in every population of a set.

    Attributes
    ----------
    holds
        Whether it is.
    by
        By how much it could be worse than one of them, in one population; not above 0 if it holds.
    against
        The one that it could be worst beside.
    gap
        How far apart the bounds of that are.
    status
        How the solve ended.
        `"optimal"`: the bounds agree to the tolerance; `"inexact"`: the bounds hold but are further apart than
        the tolerance: rounding, or the limit on evaluations, came first; `"stopped"`: the bounds hold; the
        watcher asked to stop.
    """

    holds: bool
    by: float
    against: str
    gap: float
    status: Literal["optimal", "inexact", "stopped"]


@dataclass(frozen=True)
class NominalFields(Part):
    """All estimates of one policy's value without a shift. All but the direct method's are None where the log has
    no row of what the policy does; the doubly robust one also where the log is too small to fold.

    Attributes
    ----------
    dm
        The direct method.
    ips
        Inverse propensity scores.
    snips
        Self-normalised inverse propensity scores.
    dr
        Doubly robust, cross-fitted.
    """

    dm: Estimate
    ips: Estimate | None
    snips: Estimate | None
    dr: Estimate | None


@dataclass(frozen=True)
class NominalDifferenceFields(Part):
    """By how much one policy's value is above another's, if nothing shifts.

    Attributes
    ----------
    dm
        The direct method.
    dr
        Doubly robust, cross-fitted; None where the log is too small to fold, or has no row of what one of the
        policies does.
    """

    dm: Estimate
    dr: Estimate | None


@dataclass(frozen=True)
class OnLog(Part):
    """A policy beside another on the log itself, where nothing shifts: what chance leaves of a choice.

    Attributes
    ----------
    policy
        The policy.
    against
        Of the others the one that is told from it least.
    difference
        By how much the policy's value is above the other's: paired, doubly robust, else direct.
    told
        Whether the interval leaves out 0 on the policy's side: then it is better by more than noise.
    sentence
        The same in a sentence.
    """

    policy: str
    against: str
    difference: Estimate
    told: bool
    sentence: str


@dataclass(frozen=True)
class Overlap(Part):
    """How well the log covers a policy.

    Attributes
    ----------
    effective_sample_size
        `(Σ w)² / Σ w²`: how many rows the weighted ones are worth.
    mean_ratio
        The mean ratio: 1 but for noise if the propensities are right and cover the policy.
    uncovered
        The policy's share of choices that were never made in the context they are made in; None where contexts
        are not told apart.
    clipped
        Rows whose ratio was clipped.
    """

    effective_sample_size: float
    mean_ratio: float
    uncovered: float | None
    clipped: float


@dataclass(frozen=True)
class PastGroupsFields(Part):
    """A policy valued on past groups that did not choose it.

    Attributes
    ----------
    by
        What groups are recorded by.
    folds
        How often the policy was learned anew.
    difference
        By how much it is above the baseline in the target.
    value
        What it costs in the target.
    """

    by: str
    folds: int
    difference: Transfer
    value: Transfer


@dataclass(frozen=True)
class PolicyRadii(Part):
    """Radii that mean something to one policy.

    Attributes
    ----------
    policy
        The policy.
    limit
        The confidence limit of its estimate on the worse side.
    chance
        The least radius whose worst case reaches that; None if no population within reach does.
    saturation
        Beyond this radius its worst case worsens no more; infinite (null) for couplings, where nobody looked.
    """

    _infinite: ClassVar[tuple[str, ...]] = ("saturation",)

    policy: str
    limit: float
    chance: float | None
    saturation: float


@dataclass(frozen=True)
class PolicyResultFields(Part):
    """The answers for one policy.

    Attributes
    ----------
    name
        The policy's name.
    nominal
        The nominal estimates.
    overlap
        How well the log covers the policy.
    chosen_here
        Whether the policy was chosen on the very rows that value it: then everything is too good.
    radii
        The radius that covers chance, and the one beyond which nothing worsens, at the first cost radius.
    results
        The worst cases: every context radius at every cost radius.
    target
        The estimates in the target, if there is one.
    """

    name: str
    nominal: Nominal
    overlap: Overlap
    chosen_here: bool
    radii: PolicyRadii
    results: list[RobustValue]
    target: Transported | None = None


@dataclass(frozen=True)
class PolicyWorst(Part):
    """A policy's worst case.

    Attributes
    ----------
    policy
        The policy.
    value
        The number that was found; of a worst case the bound on the safe side.
    lower
        The truth is not below this.
    upper
        The truth is not above this.
    gap
        How far apart the bounds are.
    status
        How the optimisation ended.
        `"optimal"`: the bounds agree to the tolerance; `"inexact"`: the bounds hold but are further apart than
        the tolerance: rounding, or the limit on evaluations, came first; `"stopped"`: the bounds hold; the
        watcher asked to stop.
    unobserved_mass
        The share of the worst-case population where nobody was seen.
    """

    policy: str
    value: float
    lower: float
    upper: float
    gap: float
    status: Literal["optimal", "inexact", "stopped"]
    unobserved_mass: float | None


@dataclass(frozen=True)
class ProcedureRecord(Part):
    """How a procedure did.

    Attributes
    ----------
    name
        The procedure.
        `"nominal"`: nothing shifts; `"ball"`: the plain ball; `"balanced"`: the balanced log; `"couplings"`:
        the worst coupling of what is known; `"history"`: what past groups needed.
    held
        Groups that it held for.
    of
        Of so many.
    mean_excess
        By how much its bound was beyond what really happened, on average.
    median_excess
        And in the middle.
    """

    name: Literal["nominal", "ball", "balanced", "couplings", "history"]
    held: int
    of: int
    mean_excess: float
    median_excess: float


@dataclass(frozen=True)
class PropensityFacts(Part):
    """The propensities.

    Attributes
    ----------
    source
        Where they come from.
        `"known"`: the log, row by row; `"design"`: the design; `"cells"`: shares in each context cell;
        `"logistic"`: a multinomial logistic model.
    smallest
        The smallest.
    largest
        The largest.
    clip
        Ratios above this are clipped, if it was asked.
    """

    source: Literal["known", "design", "cells", "logistic"]
    smallest: float
    largest: float
    clip: float | None


@dataclass(frozen=True)
class RadiusFields(Part):
    """What came of it, as plain data.

    Attributes
    ----------
    policies
        For each of the study's policies, what covers chance and where its worst case saturates.
    chance
        The radius that covers chance for every one of them.
    used_columns
        The columns along which the values vary: only these are counted in distances.
    unused_columns
        The others.
    cost
        Cost radii.
    comparisons
        The study's policies pair by pair, each better than the other if nothing shifts.
    recommended
        The radii recommended: chance, and what is beyond it.
    words
        Why, in words.
    line
        The line for the study file.
    halves
        Distances between random halves of the log, for a set that moves people.
    target
        The distance to the target, if there is one.
    """

    policies: list[PolicyRadii]
    chance: float
    used_columns: list[str]
    unused_columns: list[str]
    cost: CostRadius
    comparisons: list[Comparison]
    recommended: list[float]
    words: str
    line: str
    halves: Spread | None = None
    target: TargetDistance | None = None


@dataclass(frozen=True)
class Range(Part):
    """Bounds of a number, in the log's own direction.

    Attributes
    ----------
    lower
        The truth is not below this.
    upper
        The truth is not above this.
    """

    lower: float
    upper: float


@dataclass(frozen=True)
class ReversingSubgroup(Part):
    """A subgroup by two columns that the model does not have and that would reverse a verdict.

    Attributes
    ----------
    who
        Who is in it, in words.
    share
        Their share of the rows.
    effect
        By how much their difference would have to be further to the bad side than the model has it.
    not_excluded
        By how much it may be: the end of its 95% confidence interval.
    """

    who: str
    share: float
    effect: float
    not_excluded: float


@dataclass(frozen=True)
class RobustValueFields(Part):
    """One worst case.

    Attributes
    ----------
    set
        The set of contexts.
    radius
        Its radius; infinite (null) where there is none.
    cost_set
        The set of outcomes.
    cost_radius
        Its radius.
    eta
        The sharpness of an entropic set of contexts.
    support
        Which contexts mass may move to.
        `"grid"`: every point of the context space; `"observed"`: those of the log; `"space"`: every value
        between each column's ends, every level, every combination, listed or not. Needs values and policies
        made of steps (`are_everywhere`).
    value
        The number that was found; of a worst case the bound on the safe side.
    lower
        The truth is not below this.
    upper
        The truth is not above this.
    gap
        How far apart the bounds are.
    status
        How the optimisation ended.
        `"optimal"`: the bounds agree to the tolerance; `"inexact"`: the bounds hold but are further apart than
        the tolerance: rounding, or the limit on evaluations, came first; `"stopped"`: the bounds hold; the
        watcher asked to stop.
    lambda_
        How fast the worst case worsens with the radius; None where it is infinite.
    engine
        What found the inner maxima: `grid`, `tree` or `scan` on a listed support; `boxes`, `separable` or
        `descent` (of many trees together) on the whole space; None for a set that has none.
    evaluations
        Evaluations of the dual.
    unobserved_mass
        The share of the worst-case population on contexts never observed.
    held_out
        What the population found on one part of the rows costs on the other; None without splits.
    limits
        Confidence limits of the worst case; None without splits.
    claims
        The claims, that of most use first.
    column_radii
        What moves along single columns may cost on average, where that is said by column.
    cost_eta
        The sharpness of an entropic set of outcomes.
    best_coupling
        Under a set that is about a person's outcomes under every action: the worst case if these went together
        as kindly as they can. The value has them go together as badly; no data say which.
    exact_lower
        With an entropic set of contexts or outcomes: the exact worst case is not below this.
    exact_upper
        With an entropic set of contexts or outcomes: the exact worst case is not above this.
    estimate
        Under a set of people with their outcomes: the value as an estimate, with its standard error and the
        interval that follows.
    no_claim
        Why there are none.
    """

    _infinite: ClassVar[tuple[str, ...]] = ("radius",)

    set: str
    radius: float
    cost_set: str
    cost_radius: float
    eta: float | None
    support: Literal["grid", "observed", "space"]
    value: float
    lower: float
    upper: float
    gap: float
    status: Literal["optimal", "inexact", "stopped"]
    lambda_: float | None
    engine: str | None
    evaluations: int
    unobserved_mass: float
    held_out: HeldOutEstimate | None
    limits: Limits | None
    claims: list[Claim]
    column_radii: dict[str, float] = field(default_factory=dict)
    cost_eta: float | None = None
    best_coupling: float | None = None
    exact_lower: float | None = None
    exact_upper: float | None = None
    estimate: JointEstimate | None = None
    no_claim: str | None = None


@dataclass(frozen=True)
class RobustnessRadius(Part):
    """The largest radius within which one policy is no worse than another in every population.

    Attributes
    ----------
    cost_radius
        The cost radius.
    value
        The radius: 0 if the policy is worse already, infinite (null) if it is worse nowhere within reach.
    lower
        The truth is not below this.
    upper
        The truth is not above this.
    confirmed
        With confidence; None if not even without a shift, or if nothing tells the noise.
    """

    _infinite: ClassVar[tuple[str, ...]] = ("value", "lower", "upper",)

    cost_radius: float
    value: float
    lower: float
    upper: float
    confirmed: ConfirmedRadius | None


@dataclass(frozen=True)
class Runs(Part):
    """Stochastic runs.

    Attributes
    ----------
    count
        How many.
    lambda_
        λ averaged over steps and runs.
    mean
        The mean of the runs' own worst cases.
    sd
        Their standard deviation.
    schedule
        The schedule.
    """

    count: int
    lambda_: float
    mean: float
    sd: float
    schedule: Schedule


@dataclass(frozen=True)
class SampleDistanceFields(Part):
    """What came of it, as plain data.

    Attributes
    ----------
    distance
        The transport distance, in units of the ground cost.
    lower
        The truth is not below this.
    upper
        The truth is not above this.
    gap
        How far apart the bounds are.
    status
        How it ended.
        `"optimal"`: the bounds agree to the tolerance; `"inexact"`: the bounds hold but are further apart than
        the tolerance: rounding, or the limit on evaluations, came first; `"stopped"`: the bounds hold; the
        watcher asked to stop.
    kl
        The divergence of the second population from the first, in nats; None if it is infinite.
    total_variation
        Half the sum of the differences of shares.
    features
        What each feature contributes to the distance.
    from_points
        Points of the first population.
    to_points
        Points of the second.
    seconds
        How long the solve took.
    kl_reason
        Why it is infinite.
    strata
        How the strata of fixed columns shift, which the distance does not count.
    """

    distance: float
    lower: float
    upper: float
    gap: float
    status: Literal["optimal", "inexact", "stopped"]
    kl: float | None
    total_variation: float
    features: dict[str, float]
    from_points: int
    to_points: int
    seconds: float
    kl_reason: str | None = None
    strata: StrataShift | None = None


@dataclass(frozen=True)
class Schedule(Part):
    """How many steps, how many points a step, how long the steps.

    Attributes
    ----------
    steps
        T: steps.
    points
        m: points drawn from the support each step.
    step
        γ√T: the step sizes are this over √T.
    contexts
        Contexts drawn each step.
    """

    steps: int
    points: int
    step: float
    contexts: int


@dataclass(frozen=True)
class Spread(Part):
    """A few distances.

    Attributes
    ----------
    count
        How many.
    mean
        Their mean.
    sd
        Their standard deviation.
    smallest
        The smallest.
    median
        The median.
    upper
        The 95% quantile.
    largest
        The largest.
    """

    count: int
    mean: float
    sd: float
    smallest: float
    median: float
    upper: float
    largest: float


@dataclass(frozen=True)
class Step(Part):
    """One step of an effect.

    Attributes
    ----------
    levels
        The levels: one text per feature.
    effect
        What is added here.
    rows
        The action's rows here.
    """

    levels: list[str]
    effect: float
    rows: float


@dataclass(frozen=True)
class StrataShift(Part):
    """How the strata of fixed columns shift.

    Attributes
    ----------
    columns
        The fixed columns.
    total_variation
        Half the sum of the differences of the strata's shares.
    unmatched
        The share of the second population in strata that the first does not have.
    """

    columns: list[str]
    total_variation: float
    unmatched: float


@dataclass(frozen=True)
class TableModel(Part):
    """Values that were handed in."""


@dataclass(frozen=True)
class TargetDistance(Part):
    """How far a target is.

    Attributes
    ----------
    distance
        On the columns along which the values vary.
    strata
        How the strata of fixed columns shift, which no radius covers.
    """

    distance: float
    strata: StrataShift | None = None


@dataclass(frozen=True)
class TargetFacts(Part):
    """A target, and how well the log covers it.

    Attributes
    ----------
    path
        Where it came from.
    rows
        Rows used.
    left_out
        Rows that do not meet the target's conditions.
    beyond
        Columns with values that the log does not have.
    beyond_share
        The share of its people who have any of them.
    coverage
        How well the log covers it.
    """

    path: str
    rows: int
    left_out: int
    beyond: list[BeyondFacts]
    beyond_share: float
    coverage: Coverage


@dataclass(frozen=True)
class TransferFields(Part):
    """What a policy would cost in the target, or by how much more than another.

    Attributes
    ----------
    policy
        The policy.
    centre
        The estimate in the target.
    se
        Its standard error.
    bound
        The bound: the cost is not above this (the reward not below), with its condition. None where too few
        rows support one.
    level
        How often the bound is to hold.
    method
        How it is made.
        `"rank"`: what past groups needed, by rank; `"prediction"`: what past groups needed, by a prediction
        bound; `"couplings"`: the worst coupling of what is known, and noise; nothing about past groups.
    allowance
        What the bound is away from the centre.
    balance
        How the log was made like the target.
    held
        How many past groups the bound would have held, of those below.
    groups
        The past groups.
    against
        What it is compared with, if it is.
    """

    policy: str
    centre: float
    se: float
    bound: float | None
    level: float
    method: Literal["rank", "prediction", "couplings"]
    allowance: Allowance
    balance: Balance
    held: int
    groups: list[GroupScore]
    against: str | None = None


@dataclass(frozen=True)
class TransfersFields(Part):
    """What policies would cost in the target.

    Attributes
    ----------
    direction
        Whether lower or higher is better.
        `"lower is better"`: higher values are worse: the worst case is the largest mean; `"higher is better"`:
        lower values are worse: the worst case is the smallest mean.
    known
        What is known of the target, in words.
    in_time
        Whether groups follow each other in time.
    left_out
        Groups that are not counted.
    transfers
        Policy by policy.
    condition
        What the bounds claim, and what they do not.
    notes
        What to know before believing it.
    by
        What groups are recorded by, if they are.
    differences
        By how much each policy is above the first one.
    """

    direction: Literal["lower is better", "higher is better"]
    known: list[str]
    in_time: bool
    left_out: LeftOutGroups
    transfers: list[Transfer]
    condition: str
    notes: list[str]
    by: str | None = None
    differences: list[Transfer] = field(default_factory=list)


@dataclass(frozen=True)
class TransportedFields(Part):
    """What a policy would cost in the target; or by how much more than another.

    Attributes
    ----------
    dr
        Doubly robust: by the odds where there is a sample, else by the log made like what is known. None where
        the data have no rows of what the policy does.
    effective_rows
        How many rows of the log the reweighted ones are worth. Of a difference, the smaller of the two.
    dm
        The direct method: the model's values over a sample. None (absent) without a sample.
    odds
        Inverse odds weighting. None (absent) without a sample.
    """

    dr: Estimate | None
    effective_rows: float
    dm: Estimate | None = None
    odds: Estimate | None = None


@dataclass(frozen=True)
class TreeFacts(Part):
    """How a tree was grown.

    Attributes
    ----------
    max_depth
        Splits from the root to a leaf, at most.
    min_samples_leaf
        Rows in a leaf, at least.
    min_share
        Rows in a leaf, at least, as a share of the action's.
    min_samples_split
        Rows in a node that may be split, at least.
    ccp_alpha
        The strength of cost-complexity pruning.
    cross_validated
        The mean squared error on rows left out, where cross-validation chose these.
    """

    max_depth: int
    min_samples_leaf: float
    min_share: float
    min_samples_split: float
    ccp_alpha: float
    cross_validated: float | None


@dataclass(frozen=True)
class TreeModel(Part):
    """A regression tree.

    Attributes
    ----------
    branches
        Its branches, from the root down, left before right.
    """

    branches: list[Branch]
