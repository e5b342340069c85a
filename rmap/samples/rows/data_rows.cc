#include "rmap/samples/rows/data_rows.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/sample_points.h"
#include "rmap/samples/names/code_places.h"
#include "rmap/samples/names/symbolizer.h"
#include "rmap/samples/rows/function_rows.h"
#include "rmap/samples/sums/sampled_amount.h"

namespace countrace::rmap {
namespace {

constexpr char kNoAddress[] = "[no address]";
constexpr char kCode[] = "[code]";
constexpr char kNoSymbol[] = "[no symbol]";
constexpr char kOtherFile[] = "[file]";

struct Place {
  std::string data, of, dso;
  std::uint64_t address = 0, source = 0;
  auto operator<=>(const Place&) const = default;
};

// Mappings of a process grow and join others: ranges that overlap are one.
class MemoryRanges {
 public:
  struct Range {
    std::uint64_t start = 0, end = 0;
  };
  void Add(const DataArea& area) {
    ranges_.push_back({area.start, area.start + area.bytes});
  }
  // Behind the last Add().
  void Join() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.start < b.start; });
    std::vector<Range> joined;
    for (const Range& range : ranges_) {
      if (!joined.empty() && range.start < joined.back().end) {
        joined.back().end = std::max(joined.back().end, range.end);
      } else {
        joined.push_back(range);
      }
    }
    ranges_ = std::move(joined);
  }
  Range Of(const DataArea& area) const {
    const auto after = std::upper_bound(
        ranges_.begin(), ranges_.end(), area.start,
        [](std::uint64_t at, const Range& one) { return at < one.start; });
    return *std::prev(after);
  }

 private:
  std::vector<Range> ranges_;
};

// Names of areas.
class DataPlaces {
 public:
  DataPlaces(const Report& report, DataDetail detail)
      : samples_(*report.samples), detail_(detail) {
    for (const ProcessRow& row : report.processes) {
      owners_[row.index] = {row.comm, row.pid};
    }
    for (const DataSum& sum : samples_.data_sums) {
      if (IsAnonymous(sum.area)) {
        ranges_[ProcessOf(sum)].Add(samples_.areas[sum.area]);
      }
    }
    for (auto& [process, ranges] : ranges_) ranges.Join();
  }

  Place Of(const DataSum& sum) {
    if (detail_ == DataDetail::kSource) {
      return {.data = {}, .of = {}, .dso = {}, .source = sum.source};
    }
    Place place = AreaOf(sum);
    if (detail_ != DataDetail::kObject) {
      place.address = sum.address;
      // Addresses are of one process.
      if (place.of.empty() && place.data != logformat::kKernelCode &&
          sum.area != 0) {
        place.of = OwnerOf(sum, 0);
      }
    }
    return place;
  }
  const std::vector<std::string>& messages() const {
    return symbolizer_.messages();
  }

 private:
  const CodeFile& FileOf(std::uint32_t area) const {
    return samples_.files[samples_.areas[area].file];
  }
  bool IsAnonymous(std::uint32_t area) const {
    return area > 1 && FileOf(area).path.starts_with("[anon");
  }
  ProcessIndex ProcessOf(const DataSum& sum) const {
    return samples_.contexts[sum.context].process;
  }
  // `thread` 0: the first one of the process.
  std::string OwnerOf(const DataSum& sum, std::int32_t thread) const {
    const auto owner = owners_.find(ProcessOf(sum));
    if (owner == owners_.end()) return "?";
    const auto& [comm, pid] = owner->second;
    return absl::StrFormat("%s %d", comm, thread == 0 ? pid : thread);
  }

  Place AreaOf(const DataSum& sum) {
    if (sum.area == 0) return {.data = kNoAddress, .of = {}, .dso = {}};
    const DataArea& area = samples_.areas[sum.area];
    const CodeFile& file = FileOf(sum.area);
    Place place{.data = file.path.empty() ? logformat::kUnknownCode : file.path,
                .of = {},
                .dso = {}};
    if (place.data == logformat::kStackMemory) {
      place.of = OwnerOf(sum, area.thread);
    } else if (IsAnonymous(sum.area)) {
      const MemoryRanges::Range range = ranges_.at(ProcessOf(sum)).Of(area);
      absl::StrAppendFormat(&place.data, " %x-%x", range.start, range.end);
      place.of = OwnerOf(sum, 0);
    } else if (place.data.starts_with('/')) {
      SetObject(file, area, sum.address, place);
    }
    return place;
  }

  void SetObject(const CodeFile& file, const DataArea& area,
                 std::uint64_t address, Place& place) {
    place.dso = CodeFileName(file.path);
    const std::uint64_t offset = address - area.start + area.offset;
    const DataObject object = symbolizer_.ObjectAt(file, offset);
    switch (object.kind) {
      case DataObject::Kind::kObject:
        place.data = object.name;
        return;
      case DataObject::Kind::kCode:
        place.data = kCode;
        return;
      case DataObject::Kind::kNoSymbol:
        place.data = kNoSymbol;
        return;
      case DataObject::Kind::kNotProgram:
        place.data = kOtherFile;
        return;
    }
  }

  const Samples& samples_;
  const DataDetail detail_;
  Symbolizer symbolizer_;
  std::map<ProcessIndex, std::pair<std::string, std::int32_t>> owners_;
  std::map<ProcessIndex, MemoryRanges> ranges_;
};

}  // namespace

SampleTable MakeDataTable(const Report& report,
                          const logformat::TraceInfo& info, DataDetail detail,
                          const SampleChoice& choice) {
  const Samples& samples = *report.samples;
  DataPlaces places(report, detail);
  const std::vector<std::string> contexts = ContextTexts(samples, info);
  struct Sum {
    SampleWeight weight;
    std::uint64_t weights = 0;
  };
  // By event, group, context, place.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string, Place>, Sum>
      sums;
  std::vector<SampleTotal> events = EmptyTotals(samples);
  for (const DataSum& sum : samples.data_sums) {
    if (!choice.Has(sum.context)) continue;
    SampleSum plain;
    plain.context = sum.context;
    plain.hits = sum.hits;
    plain.periods = sum.periods;
    plain.squared_periods = sum.squared_periods;
    events[sum.event].Add(plain, samples);
    Sum& row = sums[{sum.event, choice.GroupOf(sum.context),
                     choice.without_in ? std::string() : contexts[sum.context],
                     places.Of(sum)}];
    row.weight.Add(plain, samples);
    row.weights += sum.weights;
  }
  SampleTable table;
  for (const auto& [key, sum] : sums) {
    const auto& [event, group, in, place] = key;
    table.rows.push_back({.event = event,
                          .group = group,
                          .in = in,
                          .dso = place.dso,
                          .address = place.address,
                          .data = place.data,
                          .of = place.of,
                          .data_source = place.source,
                          .self = AmountOf(sum.weight, events[event]),
                          .weights = sum.weights});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const SampleRow& a, const SampleRow& b) {
                     return std::tie(a.event, b.self.value) <
                            std::tie(b.event, a.self.value);
                   });
  table.messages = places.messages();
  return table;
}

}  // namespace countrace::rmap
