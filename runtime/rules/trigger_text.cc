#include "runtime/rules/trigger_text.h"

#include <signal.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "base/text/quantity_parse.h"
#include "base/text/tokens.h"
#include "runtime/rules/dump_rule_literal.h"
#include "runtime/rules/predicate_text.h"

namespace countrace::runtime {
namespace {

struct SignalName {
  std::string_view name;
  int number;
};
// Signals that the recorder does not use itself. INT, TERM and HUP end it.
constexpr SignalName kSignals[] = {{"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2},
                                   {"SIGALRM", SIGALRM}, {"SIGIO", SIGIO},
                                   {"SIGURG", SIGURG},   {"SIGWINCH", SIGWINCH},
                                   {"SIGPWR", SIGPWR}};
constexpr std::string_view kRealTime = "SIGRTMIN";

std::optional<int> FindSignal(std::string_view word) {
  std::string name(word);
  if (!word.starts_with("SIG")) name = "SIG" + name;
  for (const SignalName& known : kSignals) {
    if (name == known.name) return known.number;
  }
  if (!name.starts_with(kRealTime)) return std::nullopt;
  const std::string_view rest = std::string_view(name).substr(kRealTime.size());
  if (rest.empty()) return SIGRTMIN;
  if (rest.front() != '+') return std::nullopt;
  const std::optional<std::uint64_t> offset = ParseCount(rest.substr(1));
  if (!offset || *offset > static_cast<std::uint64_t>(SIGRTMAX - SIGRTMIN)) {
    return std::nullopt;
  }
  return SIGRTMIN + static_cast<int>(*offset);
}

const base::SourcePlace& Place() {
  static const auto* const place = new base::SourcePlace{"--trigger", 1, 1};
  return *place;
}

class Parser {
 public:
  explicit Parser(std::string_view text)
      : text_(text), tokens_(text, Place(), kPredicateTokens) {}

  absl::StatusOr<Trigger> Parse();

 private:
  absl::Status ParseCondition();
  absl::Status ParseGlob();
  absl::Status ParseThreshold();
  absl::Status ParseValues();
  absl::Status ParseSignal();
  absl::Status ParseDuration(std::uint64_t& ns);
  absl::Status ParseClause();
  absl::Status ParseAtMost(std::size_t at);
  absl::Status Once(std::size_t at, bool& seen) const;

  absl::Status Error(std::size_t at, std::string_view why) const {
    return tokens_.Error(at, why);
  }

  const std::string_view text_;
  base::Tokens tokens_;
  bool after_ = false, interval_ = false, limit_ = false;  // clauses read
  Trigger trigger_;
};

absl::Status Parser::ParseGlob() {
  const std::size_t at = tokens_.Begin();
  const std::string_view glob = tokens_.Chunk();
  if (glob.find_first_of(":*") == std::string_view::npos) {
    return Error(at,
                 "expected a glob that can match: hooks are named "
                 "provider:name, as in `segment server:handle > 20ms` or `hook "
                 "server:*`");
  }
  if (glob.find(',') != std::string_view::npos) {
    return Error(at, "a trigger has one glob: give --trigger once for each");
  }
  trigger_.glob = glob;
  return absl::OkStatus();
}

absl::Status Parser::ParseDuration(std::uint64_t& ns) {
  const std::size_t at = tokens_.Begin();
  const std::optional<std::uint64_t> parsed =
      base::ParseDurationNs(tokens_.Chunk());
  if (!parsed) {
    return Error(at,
                 "expected a duration with its unit: 500us, 20ms, 2s "
                 "(ns, us, ms, s, m, h; at most 292 years)");
  }
  ns = *parsed;
  return absl::OkStatus();
}

absl::Status Parser::ParseThreshold() {
  const std::size_t at = tokens_.Begin();
  const auto sign = tokens_.Next();
  if (!sign.ok() || sign->text != ">") {
    return Error(at, "expected `> TIME`, as in `segment server:handle > 20ms`");
  }
  return ParseDuration(trigger_.longer_than_ns);
}

absl::Status Parser::ParseValues() {
  if (!tokens_.TakeChunk("if")) return absl::OkStatus();
  const FindValue find =
      [this](const base::Token& name) -> absl::StatusOr<unsigned char> {
    if (name.kind != base::TokenKind::kWord || name.text == "ret" ||
        name.text == "number") {
      return absl::InvalidArgumentError(
          "expected a value of the hook's records: arg0 to arg5, or its name "
          "as `countrace script` prints it; an enter has no `ret`");
    }
    trigger_.values.push_back({std::string(name.text), {}});
    return static_cast<unsigned char>(0);
  };
  countrace_dump_rule rule{};
  absl::Status status = ParsePredicates(text_, tokens_, find, rule);
  for (std::size_t i = 0; status.ok() && i < trigger_.values.size(); ++i) {
    const countrace_predicate& predicate = rule.predicates[i];
    trigger_.values[i].predicate = predicate;
    // The trace keeps a trigger in a line, with tabs.
    if (std::any_of(predicate.text, predicate.text + predicate.text_bytes,
                    absl::ascii_iscntrl)) {
      return Error(tokens_.position(),
                   "expected no control character in a text");
    }
  }
  return status;
}

absl::Status Parser::ParseSignal() {
  const std::size_t at = tokens_.Begin();
  const std::optional<int> number = FindSignal(tokens_.Chunk());
  if (!number) {
    std::string known;
    for (const SignalName& signal : kSignals) {
      known += std::string(signal.name) + ", ";
    }
    return Error(
        at, absl::StrFormat("expected a signal that the recorder does not use "
                            "itself, as in `signal SIGUSR2`: %sSIGRTMIN+N",
                            known));
  }
  trigger_.signal = *number;
  return absl::OkStatus();
}

absl::Status Parser::ParseCondition() {
  const std::size_t at = tokens_.Begin();
  const std::string_view word = tokens_.Chunk();
  absl::Status status;
  if (word == "segment") {
    trigger_.kind = TriggerKind::kSegment;
    status = ParseGlob();
    if (status.ok()) status = ParseThreshold();
    return status.ok() ? ParseValues() : status;
  }
  if (word == "hook") {
    trigger_.kind = TriggerKind::kHook;
    status = ParseGlob();
    return status.ok() ? ParseValues() : status;
  }
  if (word == "signal") {
    trigger_.kind = TriggerKind::kSignal;
    return ParseSignal();
  }
  if (word == "every") {
    trigger_.kind = TriggerKind::kTime;
    return ParseDuration(trigger_.every_ns);
  }
  return Error(at,
               "expected a condition: `segment server:handle > 20ms`, "
               "`hook server:error`, `signal SIGUSR2` or `every 1h`");
}

absl::Status Parser::Once(std::size_t at, bool& seen) const {
  if (seen) return Error(at, "this clause comes twice");
  seen = true;
  return absl::OkStatus();
}

absl::Status Parser::ParseAtMost(std::size_t at) {
  constexpr std::string_view kExpected =
      "expected `at most every 10s` or `at most 5 times`";
  if (!tokens_.TakeChunk("most")) return Error(at, kExpected);
  if (tokens_.TakeChunk("every")) {
    const absl::Status status = Once(at, interval_);
    return status.ok() ? ParseDuration(trigger_.min_interval_ns) : status;
  }
  const std::size_t number_at = tokens_.Begin();
  const std::optional<std::uint64_t> number = ParseCount(tokens_.Chunk());
  if (!number) return Error(number_at, kExpected);
  if (!tokens_.TakeChunk("times") && !tokens_.TakeChunk("time")) {
    return Error(tokens_.Begin(), kExpected);
  }
  trigger_.limit = *number;
  return Once(at, limit_);
}

absl::Status Parser::ParseClause() {
  const std::size_t at = tokens_.Begin();
  const std::string_view word = tokens_.Chunk();
  if (word == "after") {
    const absl::Status status = Once(at, after_);
    return status.ok() ? ParseDuration(trigger_.after_ns) : status;
  }
  if (word == "at") return ParseAtMost(at);
  if (word == "then") {
    const std::size_t action_at = tokens_.Begin();
    const std::string_view action = tokens_.Chunk();
    bool* const wanted = action == "stop"     ? &trigger_.stop
                         : action == "start"  ? &trigger_.start
                         : action == "pause"  ? &trigger_.pause
                         : action == "resume" ? &trigger_.resume
                                              : nullptr;
    if (wanted == nullptr) {
      return Error(action_at,
                   "expected `then stop`, `then start`, `then pause` or `then "
                   "resume`");
    }
    if (trigger_.stop || trigger_.bounds_part()) {
      return Error(at, "this clause comes twice");
    }
    *wanted = true;
    if (trigger_.bounds_part() && trigger_.kind != TriggerKind::kHook) {
      return Error(action_at,
                   absl::StrFormat("only a hook can %s: `hook server:warm then "
                                   "%s`",
                                   action, action));
    }
    return absl::OkStatus();
  }
  return Error(at,
               "expected `after 50ms`, `at most every 10s`, `at most 5 times`, "
               "`then stop`, `then start`, `then pause` or `then resume`");
}

absl::StatusOr<Trigger> Parser::Parse() {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    // The trigger is stored in the trace's description.
    if (text_[i] != '\t' && (text_[i] < ' ' || text_[i] > '~')) {
      return Error(i, "this character is not printable ASCII");
    }
  }
  if (text_.size() > kMaxTriggerBytes) {
    return Error(kMaxTriggerBytes,
                 absl::StrFormat("the trigger is too long: bytes=%d, at most "
                                 "%d",
                                 text_.size(), kMaxTriggerBytes));
  }
  absl::Status status = ParseCondition();
  while (status.ok() && tokens_.Begin() < text_.size()) status = ParseClause();
  if (!status.ok()) return status;
  if (trigger_.stop && (interval_ || limit_)) {
    return Error(text_.size(),
                 "with `then stop` it fires once: leave out `at most`");
  }
  if (trigger_.bounds_part() && (after_ || interval_ || limit_)) {
    return Error(text_.size(),
                 "`then start`, `then pause` and `then resume` are at the "
                 "hook: leave out `after` and `at most`");
  }
  trigger_.text = PrintTrigger(trigger_);
  return trigger_;
}

}  // namespace

absl::StatusOr<Trigger> ParseTrigger(std::string_view text) {
  return Parser(text).Parse();
}

absl::StatusOr<std::vector<Trigger>> ParseTriggers(
    const std::vector<std::string>& texts) {
  if (texts.size() > kMaxTriggers) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Too many triggers: triggers=%d, at most %d",
                        texts.size(), kMaxTriggers));
  }
  std::vector<Trigger> triggers;
  for (const std::string& text : texts) {
    auto trigger = ParseTrigger(text);
    if (!trigger.ok()) return trigger.status();
    triggers.push_back(*std::move(trigger));
  }
  if (std::ranges::count(triggers, true, &Trigger::start) > 1) {
    return absl::InvalidArgumentError(
        "Two triggers have `then start`: one hook begins what is counted; a "
        "glob names several");
  }
  // A record would begin what it ends; one may start, and resume later.
  std::map<std::string, const Trigger*> bounds;
  for (const Trigger& trigger : triggers) {
    if (!trigger.bounds_part()) continue;
    const auto [other, added] = bounds.emplace(
        trigger.text.substr(0, trigger.text.rfind(" then ")), &trigger);
    const Trigger& first = *other->second;
    if (added ||
        (!trigger.pause && !first.pause && trigger.text != first.text)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrFormat(
        "Triggers \"%s\" and \"%s\" are of the same hook: leave one out, name "
        "another hook, or compare a value (`if arg0 == 1`)",
        first.text, trigger.text));
  }
  return triggers;
}

std::string PrintTrigger(const Trigger& trigger) {
  std::string text;
  switch (trigger.kind) {
    case TriggerKind::kSegment:
      text = "segment " + trigger.glob + " > " +
             base::PrintDurationNs(trigger.longer_than_ns);
      break;
    case TriggerKind::kHook:
      text = "hook " + trigger.glob;
      break;
    case TriggerKind::kSignal:
      text = "signal " + TriggerSignalName(trigger.signal);
      break;
    case TriggerKind::kTime:
      text = "every " + base::PrintDurationNs(trigger.every_ns);
      break;
  }
  for (const Trigger::Comparison& comparison : trigger.values) {
    const std::string text_of = PrintPredicate(comparison.predicate);
    text += (&comparison == trigger.values.data() ? " if " : " and ") +
            comparison.value + text_of.substr(text_of.find(' '));
  }
  const Trigger defaults;
  if (trigger.after_ns != defaults.after_ns) {
    text += " after " + base::PrintDurationNs(trigger.after_ns);
  }
  if (trigger.min_interval_ns != defaults.min_interval_ns) {
    text += " at most every " + base::PrintDurationNs(trigger.min_interval_ns);
  }
  if (trigger.limit != 0) {
    text += absl::StrFormat(" at most %d times", trigger.limit);
  }
  if (trigger.stop) text += " then stop";
  if (trigger.start) text += " then start";
  if (trigger.pause) text += " then pause";
  if (trigger.resume) text += " then resume";
  return text;
}

std::string TriggerSignalName(int number) {
  for (const SignalName& known : kSignals) {
    if (number == known.number) return std::string(known.name);
  }
  if (number < SIGRTMIN || number > SIGRTMAX) {
    return absl::StrFormat("signal %d", number);
  }
  return number == SIGRTMIN
             ? std::string(kRealTime)
             : absl::StrFormat("%s+%d", kRealTime, number - SIGRTMIN);
}

}  // namespace countrace::runtime
