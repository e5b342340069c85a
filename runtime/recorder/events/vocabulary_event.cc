#include "runtime/recorder/events/vocabulary_event.h"

#include <sys/utsname.h>

#include <functional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/posix/regular_file.h"
#include "base/posix/small_file.h"
#include "base/text/glob.h"
#include "base/text/name_escape.h"

namespace countrace::runtime {
namespace {

using logformat::Vocabulary;
using logformat::VocabularyEvent;

struct Machine {
  std::string architecture;
  std::string cpu;  // empty: its name is not in /proc/cpuinfo

  std::string Name() const {
    return architecture + (cpu.empty() ? "" : ", " + cpu);
  }
  bool Has(const Vocabulary& vocabulary) const {
    return vocabulary.architecture == architecture &&
           (vocabulary.cpu.empty() ||
            base::GlobMatches(vocabulary.cpu.c_str(), cpu.c_str()));
  }
};

Machine ReadMachine() {
  Machine machine;
  if (utsname names{}; uname(&names) == 0) machine.architecture = names.machine;
  const auto text = base::ReadSmallFile("/proc/cpuinfo");
  if (!text.ok()) return machine;
  const std::vector<std::string> lines = absl::StrSplit(*text, '\n');
  for (const std::string& line : lines) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    // x86 has "model name", POWER "cpu", MIPS "cpu model".
    if (line.starts_with("model name") || line.starts_with("cpu\t") ||
        line.starts_with("cpu model")) {
      machine.cpu = line.substr(colon + 2);
      break;
    }
  }
  return machine;
}

const Machine& ThisMachine() {
  static const Machine machine = ReadMachine();
  return machine;
}

struct Known {
  std::vector<Vocabulary> vocabularies;  // the user's file first
  bool first_is_model = false;           // UseModel()
};

Known& Vocabularies() {
  static Known known = [] {
    Known shipped;
    for (const std::string& model : logformat::ShippedModels()) {
      auto read = LoadVocabulary(model);
      if (read.ok()) shipped.vocabularies.push_back(*std::move(read));
    }
    return shipped;
  }();
  return known;
}

std::string_view WithoutModifier(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos ||
      name.find_first_not_of("uk", colon + 1) != std::string_view::npos) {
    return name;
  }
  return name.substr(0, colon);
}

std::string NameOf(const VocabularyEvent& event) {
  return absl::StrFormat("%s in group %d", event.name, event.group.value_or(0));
}

struct Found {
  const Vocabulary* vocabulary = nullptr;  // without rows: of no meaning
  EventRows rows;
};

Found FindHere(std::string_view name) {
  const auto& [vocabularies, model] = Vocabularies();
  Found found;
  for (const Vocabulary& vocabulary : vocabularies) {
    if (!model && !ThisMachine().Has(vocabulary)) continue;
    found = {&vocabulary,
             logformat::FindEvent(vocabulary, WithoutModifier(name))};
    if (!found.rows.empty() || model) break;
  }
  return found;
}

absl::Status WrongMask(std::string_view name, const VocabularyEvent& event) {
  std::string masks = absl::StrFormat("0x%x", event.mask);
  for (const std::uint64_t mask : event.masks) {
    absl::StrAppendFormat(&masks, ", 0x%x", mask);
  }
  if (event.mask_bits != 0) {
    absl::StrAppendFormat(&masks, ", bits of 0x%x", event.mask_bits);
  }
  return absl::FailedPreconditionError(absl::StrFormat(
      "Event \"%s\": the unit mask behind its colon can be %s", name, masks));
}

}  // namespace

absl::StatusOr<Vocabulary> LoadVocabulary(const std::string& name) {
  const std::string_view shipped = logformat::ShippedVocabulary(name);
  if (!shipped.empty()) {
    return logformat::ParseVocabulary(shipped, name + ".toml");
  }
  if (name.find_first_of("./") == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "No model \"%s\": there are %s, or give a file (NAME.toml)",
        base::EscapeName(name),
        absl::StrJoin(logformat::ShippedModels(), ", ")));
  }
  const auto text = base::ReadNamedFile(name, logformat::kMaxVocabularyBytes);
  if (!text.ok()) return text.status();
  return logformat::ParseVocabulary(*text, name);
}

absl::Status UseEventFile(const std::string& path) {
  if (path.empty()) return absl::OkStatus();
  auto vocabulary = LoadVocabulary(path);
  if (!vocabulary.ok()) return vocabulary.status();
  std::vector<Vocabulary>& known = Vocabularies().vocabularies;
  known.insert(known.begin(), *std::move(vocabulary));
  return absl::OkStatus();
}

absl::Status UseModel(const std::string& name) {
  const absl::Status status = UseEventFile(name);
  Vocabularies().first_is_model = status.ok();
  return status;
}

const Vocabulary* ModelInUse() {
  Known& known = Vocabularies();
  return known.first_is_model ? &known.vocabularies.front() : nullptr;
}

absl::StatusOr<std::uint64_t> FindRawEvent(std::string_view name) {
  const auto [here, rows] = FindHere(name);
  if (rows.empty()) {
    const std::string_view plain = name.substr(0, name.find(':'));
    const EventRows other = FindHere(plain).rows;
    if (plain != name && !other.empty()) return WrongMask(name, other.front());
  }
  if (const Vocabulary* const model = ModelInUse()) {
    // Codes are those of a counter or group: the name alone makes an event.
    if (!rows.empty()) return std::hash<std::string>{}(NameOf(rows.front()));
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has no event \"%s\": `countrace list events --model`"
        " shows those it has",
        base::EscapeName(model->title), name));
  }
  if (!rows.empty()) {
    if (here->groups.empty()) return rows[0].mask << 8 | rows[0].code;
    return absl::FailedPreconditionError(absl::StrFormat(
        "Event \"%s\" of %s is one of a group, which Linux selects by numbers "
        "that this file does not have",
        name, base::EscapeName(here->title)));
  }
  for (const Vocabulary& vocabulary : Vocabularies().vocabularies) {
    if (logformat::FindEvent(vocabulary, name).empty()) continue;
    return absl::FailedPreconditionError(absl::StrFormat(
        "Event \"%s\" is one of %s (%s%s%s), and this machine is %s. "
        "`countrace doctor --model %s -e` shows what counts at once there",
        name, base::EscapeName(vocabulary.title), vocabulary.architecture,
        vocabulary.cpu.empty() ? "" : ", ", vocabulary.cpu,
        ThisMachine().Name(), vocabulary.model));
  }
  return absl::NotFoundError("no vocabulary has it");
}

EventRows RowsHere(std::string_view name) { return FindHere(name).rows; }

std::optional<bool> PredictTogether(const std::vector<std::string>& names) {
  std::vector<EventRows> events;
  for (const std::string& name : names) {
    events.push_back(RowsHere(name));
    if (events.back().empty()) return std::nullopt;
  }
  return CountTogether(events);
}

std::string DescribeRows(const EventRows& rows) {
  std::vector<std::string> ways;
  for (const VocabularyEvent& row : rows) {
    std::string way =
        absl::StrFormat("counter %s", absl::StrJoin(row.counters, " or "));
    if (row.group) {
      absl::StrAppendFormat(&way, " of %s%sgroup %d",
                            absl::StrJoin(row.units, ", "),
                            row.units.empty() ? "" : " ", *row.group);
    }
    ways.push_back(std::move(way));
  }
  return ways.empty() ? "" : " (" + absl::StrJoin(ways, ", or ") + ")";
}

}  // namespace countrace::runtime
