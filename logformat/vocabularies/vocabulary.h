// The events of one processor model in its own words: which code each has,
// which counters take it, and which groups can be counted at once. From a TOML
// file (docs/events.md).
//
// An event that can be counted in several ways (another counter, another group)
// has one row for each. Thread: any; no state.
#ifndef COUNTRACE_LOGFORMAT_VOCABULARIES_VOCABULARY_H_
#define COUNTRACE_LOGFORMAT_VOCABULARIES_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace countrace::logformat {

struct VocabularyEvent {
  std::string name;
  std::vector<std::string> aliases;
  std::uint64_t code = 0;  // below 2^63, as the mask
  std::uint64_t mask = 0;
  // Others that "NAME:MASK" may choose: these, or any of these bits.
  std::vector<std::uint64_t> masks;
  std::uint64_t mask_bits = 0;
  std::vector<std::uint32_t> counters;  // that take it: 0 to 63, ascending
  // Each of these units must select `group`; none: the PMU as a whole.
  std::vector<std::string> units;
  std::optional<std::uint32_t> group;  // none: counts beside every group
  std::uint64_t minimum = 0;           // least period of samples
  std::string description;
};

// Events that the PMU as a whole counts at once.
struct VocabularyGroup {
  std::uint32_t number = 0;
  std::string name;
  // MMCR0, MMCR1 and MMCRA as texts ("0x4A5675AC"); empty: not known.
  std::vector<std::string> mmcr;
};

struct Vocabulary {
  std::string model;         // "power5"
  std::string title;         // "IBM POWER5"
  std::string architecture;  // as `uname -m` prints it
  std::string cpu;  // glob of the CPU's name in /proc/cpuinfo; empty: any
  std::vector<VocabularyGroup> groups;
  std::vector<VocabularyEvent> events;
};

inline constexpr std::size_t kMaxVocabularyBytes = 4 << 20;

// `file` is for messages. Errors: INVALID_ARGUMENT "FILE:LINE:COLUMN: ...",
// also of a code or name that two rows have on one counter, and of a group that
// the file does not describe.
absl::StatusOr<Vocabulary> ParseVocabulary(std::string_view text,
                                           const std::string& file);

// The rows of an event: of its name or alias in any case. "NAME_G44" and
// "NAME_GRP44" are the rows in group 44 alone, "NAME:0x3" those that can have
// this unit mask, with it. Empty: there is none.
std::vector<VocabularyEvent> FindEvent(const Vocabulary& vocabulary,
                                       std::string_view name);

// "PM_CYC_GRP44" -> "PM_CYC", 44. Without such an ending: the name alone.
struct GroupedName {
  std::string_view name;
  std::optional<std::uint32_t> group;
};
GroupedName SplitGroup(std::string_view name);

// "16" or "0x10": codes and masks as files and users write them.
std::optional<std::uint64_t> ParseCode(std::string_view text);

// True if an event may have this name: printable, none of " , { } / :".
bool IsEventWord(std::string_view name);

// The models that come with the program: "arm64", ...
std::vector<std::string> ShippedModels();
// The file of one; empty: there is none.
std::string_view ShippedVocabulary(std::string_view model);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_VOCABULARIES_VOCABULARY_H_
