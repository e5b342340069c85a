#include "runtime/recorder/kernel/hooks/usdt_segments.h"

#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::runtime {
namespace {

using Place = HookAttachment::Place;

// The endings of a pair of probes that mark the begin and the end of a segment:
// ours, and the customs of other programs (PostgreSQL, CPython, the JVM).
constexpr std::pair<std::string_view, std::string_view> kSegmentEndings[] = {
    {"__enter", "__exit"},
    {"__entry", "__return"},
    {"__start", "__done"},
    {"__begin", "__end"}};

}  // namespace

UsdtSegments::UsdtSegments(const std::vector<UsdtNote>& notes) {
  for (const UsdtNote& note : notes) {
    names_.insert(note.provider + ":" + note.name);
  }
}

UsdtSegments::Part UsdtSegments::PartOf(const UsdtNote& note) const {
  const std::string_view name = note.name;
  const auto stem_before = [&](std::string_view ending,
                               std::string_view partner) -> std::string_view {
    if (!name.ends_with(ending) || name.size() == ending.size()) return "";
    const std::string_view stem = name.substr(0, name.size() - ending.size());
    const bool paired = ending == "__enter" || ending == "__exit" ||
                        names_.contains(absl::StrFormat(
                            "%s:%s%s", note.provider, stem, partner));
    return paired ? stem : "";
  };
  for (const auto& [begin, end] : kSegmentEndings) {
    if (const auto stem = stem_before(begin, end); !stem.empty()) {
      return {stem, Place::kEnter};
    }
    if (const auto stem = stem_before(end, begin); !stem.empty()) {
      return {stem, Place::kExit};
    }
  }
  return {name, Place::kPoint};
}

}  // namespace countrace::runtime
