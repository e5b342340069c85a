#include "runtime/rules/dump_rule_text.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/str_format.h"
#include "base/text/glob.h"
#include "base/text/quantity_parse.h"
#include "base/text/tokens.h"
#include "runtime/rules/dump_rule_literal.h"
#include "runtime/rules/predicate_text.h"

namespace countrace::runtime {
namespace {

constexpr std::string_view kClauses =
    "if, from, every, at most every, always or never";

bool IsKeyword(std::string_view word) {
  return word == "if" || word == "from" || word == "every" || word == "at" ||
         word == "always" || word == "never";
}

template <std::size_t N>
void Store(std::string_view from, char (&to)[N]) {
  std::memcpy(to, from.data(), std::min(from.size(), N - 1));
}

const base::SourcePlace& Place() {
  static const auto* const place = new base::SourcePlace{"--dump", 1, 1};
  return *place;
}

class Parser {
 public:
  Parser(std::string_view text, const FindArgument& find)
      : text_(text), tokens_(text, Place(), kPredicateTokens), find_(find) {}

  absl::StatusOr<DumpRule> Parse();

 private:
  absl::Status ParseGlob();
  absl::Status ParseClause();
  absl::StatusOr<unsigned char> Find(const base::Token& name) const;
  absl::Status ParseCaller();
  absl::Status ParseEvery(std::size_t at);
  absl::Status ParseAtMost(std::size_t at);

  absl::Status Error(std::size_t at, std::string_view why) const {
    return tokens_.Error(at, why);
  }

  const std::string_view text_;
  base::Tokens tokens_;
  const FindArgument& find_;
  bool decided_ = false;  // "always" or "never" was read
  bool any_clause_ = false;
  DumpRule rule_{};
};

absl::Status Parser::ParseGlob() {
  const std::size_t at = tokens_.Begin();
  if (at == text_.size()) {
    return Error(at,
                 "expected a glob on provider:name, or a clause: if, from, "
                 "every, at most every, always or never");
  }
  if (IsKeyword(tokens_.PeekChunk())) {
    Store("*", rule_.glob);
    return absl::OkStatus();
  }
  const std::string_view glob = tokens_.Chunk();
  if (glob.find_first_of(":*") == std::string_view::npos) {
    return Error(
        at, absl::StrFormat("neither a clause (%s) nor a glob that can match: "
                            "hooks are named provider:name, as in server:*",
                            kClauses));
  }
  if (glob.find(',') != std::string_view::npos) {
    return Error(at, "a rule has one glob: give --dump once for each");
  }
  Store(glob, rule_.glob);
  return absl::OkStatus();
}

absl::StatusOr<unsigned char> Parser::Find(const base::Token& name) const {
  if (const auto argument = ParseArgument(name.text)) return *argument;
  if (name.kind == base::TokenKind::kWord && find_ != nullptr) {
    return find_(rule_.glob, name.text);
  }
  return absl::InvalidArgumentError(
      "expected a value of the hook: arg0 to arg5, or at kernel-side hooks ret "
      "(what the code returned), number or an argument's name");
}

absl::Status Parser::ParseCaller() {
  const std::size_t at = tokens_.Begin();
  const std::string_view word = tokens_.Chunk();
  constexpr std::string_view kExpected =
      "expected a range of code addresses 0xBEGIN-0xEND (the end not "
      "included), the file name of a program or library, or "
      "libfoo.so+0xBEGIN-0xEND with offsets as `nm` prints them";
  std::string_view range = word;
  std::string_view object;
  if (!word.starts_with("0x")) {
    const std::size_t plus = word.rfind("+0x");
    object = word.substr(0, plus);
    range = plus == std::string_view::npos ? std::string_view()
                                           : word.substr(plus + 1);
    if (object.empty() || object.find('/') != std::string_view::npos) {
      return Error(at, kExpected);
    }
    if (object.size() >= COUNTRACE_RULE_CALLER_BYTES) {
      return Error(at,
                   absl::StrFormat("name-bytes=%d, at most %d", object.size(),
                                   COUNTRACE_RULE_CALLER_BYTES - 1));
    }
    Store(object, rule_.caller);
    rule_.caller_end = std::numeric_limits<std::uint64_t>::max();
    if (plus == std::string_view::npos) return absl::OkStatus();
  }
  const std::optional<AddressRange> parsed = ParseAddressRange(range);
  if (!parsed) return Error(at, kExpected);
  if (parsed->begin >= parsed->end) {
    return Error(at, absl::StrFormat("the range is empty: begin=%#x, end=%#x",
                                     parsed->begin, parsed->end));
  }
  rule_.caller_begin = parsed->begin;
  rule_.caller_end = parsed->end;
  return absl::OkStatus();
}

absl::Status Parser::ParseEvery(std::size_t at) {
  const std::size_t number_at = tokens_.Begin();
  const std::string_view word = tokens_.Chunk();
  const std::optional<std::uint64_t> number = ParseCount(word);
  if (!number) {
    if (base::ParseDurationNs(word)) {
      return Error(number_at,
                   absl::StrFormat("write `at most every %s`", word));
    }
    return Error(number_at, absl::StrFormat("expected a number from 1 to %d",
                                            kMaxRuleCount));
  }
  unsigned long long DumpRule::*field = &DumpRule::every_n;
  if (tokens_.TakeChunk("ticks") || tokens_.TakeChunk("tick"))
    field = &DumpRule::every_ticks;
  if (rule_.*field != 0) return Error(at, "this clause comes twice");
  rule_.*field = *number;
  return absl::OkStatus();
}

absl::Status Parser::ParseAtMost(std::size_t at) {
  if (!tokens_.TakeChunk("most") || !tokens_.TakeChunk("every")) {
    return Error(at, "expected `at most every DURATION`");
  }
  const std::size_t number_at = tokens_.Begin();
  const std::optional<std::uint64_t> ns =
      base::ParseDurationNs(tokens_.Chunk());
  if (!ns) {
    return Error(number_at,
                 "expected a duration with its unit: 500us, 10ms, 2s "
                 "(ns, us, ms, s, m, h; at most 292 years)");
  }
  if (rule_.min_interval_ns != 0) return Error(at, "this clause comes twice");
  rule_.min_interval_ns = *ns;
  return absl::OkStatus();
}

absl::Status Parser::ParseClause() {
  const std::size_t at = tokens_.Begin();
  const std::string_view word = tokens_.Chunk();
  if (decided_) return Error(at, "nothing may follow `always` or `never`");
  if (word == "always" || word == "never") {
    if (any_clause_) {
      return Error(at, "`always` and `never` stand alone after the glob");
    }
    decided_ = true;
    rule_.never = word == "never" ? 1 : 0;
    return absl::OkStatus();
  }
  any_clause_ = true;
  if (word == "if") {
    if (rule_.predicate_count != 0) {
      return Error(at, "`if` comes twice: join comparisons by `and`");
    }
    return ParsePredicates(
        text_, tokens_, [this](const base::Token& name) { return Find(name); },
        rule_);
  }
  if (word == "from") {
    if (rule_.caller_end != 0) return Error(at, "this clause comes twice");
    return ParseCaller();
  }
  if (word == "every") return ParseEvery(at);
  if (word == "at") return ParseAtMost(at);
  return Error(at, absl::StrFormat("expected %s", kClauses));
}

absl::StatusOr<DumpRule> Parser::Parse() {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    // The rule goes into the trace's description.
    if (text_[i] != '\t' && (text_[i] < ' ' || text_[i] > '~')) {
      return Error(i, "this character is not printable ASCII");
    }
  }
  if (text_.size() >= COUNTRACE_RULE_TEXT_BYTES) {
    return Error(COUNTRACE_RULE_TEXT_BYTES - 1,
                 absl::StrFormat("the rule is too long: bytes=%d, at most %d",
                                 text_.size(), COUNTRACE_RULE_TEXT_BYTES - 1));
  }
  absl::Status status = ParseGlob();
  while (status.ok() && tokens_.Begin() < text_.size()) status = ParseClause();
  if (!status.ok()) return status;
  const std::string canonical = PrintDumpRule(rule_);
  if (canonical.size() >= sizeof(rule_.text)) {
    return Error(0, absl::StrFormat("the rule is too long: bytes=%d in its "
                                    "full spelling, at most %d",
                                    canonical.size(), sizeof(rule_.text) - 1));
  }
  Store(canonical, rule_.text);
  return rule_;
}

}  // namespace

absl::StatusOr<DumpRule> ParseDumpRule(std::string_view text,
                                       const FindArgument& find) {
  return Parser(text, find).Parse();
}

absl::StatusOr<std::vector<DumpRule>> ParseUnboundDumpRules(
    const std::vector<std::string>& texts) {
  return ParseDumpRules(texts, [](std::string_view, std::string_view) {
    return absl::StatusOr<unsigned char>(static_cast<unsigned char>(0));
  });
}

absl::StatusOr<std::vector<DumpRule>> ParseDumpRules(
    const std::vector<std::string>& texts, const FindArgument& find) {
  if (texts.size() > COUNTRACE_MAX_DUMP_RULES) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Too many dump rules: rules=%d, at most %d",
                        texts.size(), COUNTRACE_MAX_DUMP_RULES));
  }
  std::vector<DumpRule> rules;
  for (const std::string& text : texts) {
    const absl::StatusOr<DumpRule> rule = ParseDumpRule(text, find);
    if (!rule.ok()) return rule.status();
    for (const DumpRule& earlier : rules) {
      const std::string_view glob = earlier.glob;
      if (glob == "*" || glob == rule->glob) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "Dump rule \"%s\" never applies: the first rule that matches a "
            "hook decides, and \"%s\" comes before it; put the special rule "
            "first, or join the clauses in one rule",
            rule->text, earlier.text));
      }
    }
    rules.push_back(*rule);
  }
  return rules;
}

std::string PrintDumpRule(const DumpRule& rule) {
  std::string text = rule.glob;
  if (rule.never != 0) return text + " never";
  for (unsigned i = 0; i < rule.predicate_count; ++i) {
    text += i == 0 ? " if " : " and ";
    text += PrintPredicate(rule.predicates[i]);
  }
  if (rule.caller[0] != '\0') {
    text += absl::StrFormat(" from %s", rule.caller);
    if (rule.caller_end != std::numeric_limits<std::uint64_t>::max()) {
      text += absl::StrFormat("+0x%x-0x%x", rule.caller_begin, rule.caller_end);
    }
  } else if (rule.caller_end != 0) {
    text +=
        absl::StrFormat(" from 0x%x-0x%x", rule.caller_begin, rule.caller_end);
  }
  if (rule.every_n != 0) text += absl::StrFormat(" every %d", rule.every_n);
  if (rule.min_interval_ns != 0) {
    text += " at most every " + base::PrintDurationNs(rule.min_interval_ns);
  }
  if (rule.every_ticks != 0) {
    text += absl::StrFormat(" every %d ticks", rule.every_ticks);
  }
  return text == rule.glob ? text + " always" : text;
}

int FindDumpRule(const std::vector<DumpRule>& rules, const std::string& hook) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (base::GlobMatches(rules[i].glob, hook.c_str())) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::uint64_t KernelTickNs() {
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0) return 0;
  return static_cast<std::uint64_t>(tick.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(tick.tv_nsec);
}

}  // namespace countrace::runtime
