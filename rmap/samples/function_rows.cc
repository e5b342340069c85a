#include "rmap/samples/function_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "logformat/sample_points.h"
#include "rmap/samples/symbolizer.h"

namespace countrace::rmap {
namespace {

constexpr char kStripped[] = "[stripped]";
constexpr double kNormal95 = 1.959963984540054;

std::string FileName(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return path.front() == '/' ? path.substr(slash + 1) : path;
}

// One place of the code, as the rows of a table tell places apart.
struct Place {
  std::string function, dso, source;
  std::uint64_t address = 0;
  auto operator<=>(const Place&) const = default;
};

// The places of all frames, each looked up once.
class Places {
 public:
  Places(const Samples& samples, CodeBy by) : samples_(samples), by_(by) {
    of_frame_.resize(samples.frames.size());
  }

  // An index that is equal for frames of one row.
  std::uint32_t Of(std::uint32_t frame) {
    std::optional<std::uint32_t>& known = of_frame_[frame];
    if (!known) {
      Place place = Look(frame);
      if (by_ == CodeBy::kDso) place.function.clear();
      const auto [found, added] = numbers_.try_emplace(
          place, static_cast<std::uint32_t>(places_.size()));
      if (added) places_.push_back(std::move(place));
      known = found->second;
    }
    return *known;
  }
  const Place& operator[](std::uint32_t number) const {
    return places_[number];
  }
  const std::vector<std::string>& messages() const {
    return symbolizer_.messages();
  }

 private:
  Place Look(std::uint32_t number) {
    Place place;
    if (number == 0) {  // no stack
      place.function = place.dso = logformat::kUnknownCode;
      return place;
    }
    const StackFrame& frame = samples_.frames[number];
    const CodeFile& file = samples_.files[frame.file];
    place.dso = file.path.empty() ? logformat::kUnknownCode : file.path;
    if (by_ == CodeBy::kAddress) place.address = frame.address;
    if (by_ == CodeBy::kDso) return place;
    if (place.dso.front() == '/') {
      CodeName name = symbolizer_.NameOf(file, frame.address);
      place.function = name.function.empty() ? kStripped : name.function;
      if (by_ == CodeBy::kAddress) place.source = std::move(name.source);
      return place;
    }
    place.function = place.dso;  // the bucket, if it has no name
    auto after = samples_.symbols.upper_bound({frame.file, frame.address});
    if (after == samples_.symbols.begin()) return place;
    --after;
    const auto& [at, symbol] = *after;
    if (at.first == frame.file && frame.address - at.second < symbol.bytes) {
      place.function = Demangled(symbol.name);
    }
    return place;
  }

  const Samples& samples_;
  const CodeBy by_;
  Symbolizer symbolizer_;
  std::vector<std::optional<std::uint32_t>> of_frame_;
  std::map<Place, std::uint32_t> numbers_;
  std::vector<Place> places_;
};

struct Weight {
  std::uint64_t hits = 0, periods = 0;
  void Add(const SampleSum& sum) {
    hits += sum.hits;
    periods += sum.periods;
  }
};

// All samples of an event. Samples of unequal periods are worth fewer.
struct EventSum {
  double periods = 0, squared_periods = 0;
  double effective_hits() const {
    return squared_periods > 0 ? periods * periods / squared_periods : 0;
  }
};

SampledAmount AmountOf(const Weight& weight, const EventSum& all) {
  SampledAmount amount;
  if (all.periods > 0) {
    const double share = static_cast<double>(weight.periods) / all.periods;
    SetShare(share * all.effective_hits(), all.effective_hits(), amount);
  }
  amount.hits = weight.hits;
  amount.value = weight.periods;
  amount.lo = static_cast<std::uint64_t>(amount.share_lo * all.periods);
  amount.hi =
      static_cast<std::uint64_t>(std::ceil(amount.share_hi * all.periods));
  return amount;
}

std::string ContextText(const SampleContext& context,
                        const logformat::TraceInfo& info) {
  std::string text;
  for (const std::uint32_t hook_id : {context.segment, context.system_call}) {
    if (hook_id == 0) continue;
    const logformat::HookInfo* const hook = info.FindHook(hook_id);
    if (!text.empty()) text += " > ";
    text += hook == nullptr ? "?" : hook->FullName();
  }
  return text;
}

std::vector<SampleBooks> BooksOf(const Samples& samples) {
  std::vector<SampleBooks> all(samples.events.size());
  for (std::uint32_t event = 0; event < all.size(); ++event) {
    all[event].event = event;
    all[event].stacks_lost = samples.stacks_lost;
  }
  for (const SampleSum& sum : samples.sums) {
    all[sum.event].hits += sum.hits;
    all[sum.event].processes += sum.periods;
  }
  std::vector<std::uint64_t> cpus(all.size());
  for (const SampleCount& count : samples.counts) {
    SampleBooks& books = all[count.event];
    books.counted += count.counted;
    books.idle += count.idle;
    books.outside += count.outside;
    books.lost += count.lost;
    books.throttled += count.throttled;
    ++cpus[count.event];
  }
  for (SampleBooks& books : all) {
    books.residual = static_cast<std::int64_t>(books.counted - books.processes -
                                               books.idle - books.outside);
    if (books.hits > 0) {
      books.per_cpu = cpus[books.event] * (books.processes / books.hits);
    }
  }
  return all;
}

}  // namespace

void SetShare(double hits, double all, SampledAmount& amount) {
  if (all <= 0) return;
  const double share = std::min(hits / all, 1.0);
  const double z2 = kNormal95 * kNormal95;
  const double middle = (share + z2 / (2 * all)) / (1 + z2 / all);
  const double half =
      kNormal95 / (1 + z2 / all) *
      std::sqrt(share * (1 - share) / all + z2 / (4 * all * all));
  amount.share = share;
  amount.share_lo = std::max(0.0, middle - half);
  amount.share_hi = std::min(1.0, middle + half);
}

CodeTable MakeCodeTable(const Samples& samples,
                        const logformat::TraceInfo& info, CodeBy by,
                        bool by_context) {
  Places places(samples, by);
  std::vector<std::string> contexts;
  for (const SampleContext& context : samples.contexts) {
    contexts.push_back(by_context ? ContextText(context, info) : "");
  }
  struct Sums {
    Weight self, total;
  };
  // By event, context, place.
  std::map<std::tuple<std::uint32_t, std::string, std::uint32_t>, Sums> sums;
  std::vector<EventSum> events(samples.events.size());
  std::set<std::uint32_t> seen;
  for (const SampleSum& sum : samples.sums) {
    EventSum& event = events[sum.event];
    event.periods += static_cast<double>(sum.periods);
    event.squared_periods += sum.squared_periods;
    const std::string& in = contexts[sum.context];
    sums[{sum.event, in, places.Of(sum.frame)}].self.Add(sum);
    seen.clear();
    for (std::uint32_t frame = sum.frame;;
         frame = samples.frames[frame].parent) {
      if (frame == 0 && sum.frame != 0) break;  // the root of a stack
      const std::uint32_t place = places.Of(frame);
      if (seen.insert(place).second) {
        sums[{sum.event, in, place}].total.Add(sum);
      }
      if (frame == 0) break;
    }
  }
  CodeTable table;
  for (const auto& [key, sum] : sums) {
    const auto& [event, in, number] = key;
    const Place& place = places[number];
    table.rows.push_back({event, in, place.function, FileName(place.dso),
                          place.source, place.address,
                          AmountOf(sum.self, events[event]),
                          AmountOf(sum.total, events[event])});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const CodeRow& a, const CodeRow& b) {
                     return std::tie(a.event, b.self.value, b.total.value) <
                            std::tie(b.event, a.self.value, a.total.value);
                   });
  table.books = BooksOf(samples);
  table.messages = places.messages();
  return table;
}

}  // namespace countrace::rmap
