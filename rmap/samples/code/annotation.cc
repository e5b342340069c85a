#include "rmap/samples/code/annotation.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/glob.h"
#include "base/text/name_escape.h"
#include "rmap/samples/names/code_places.h"

namespace countrace::rmap {
namespace {

// "f" of "f(int)", "operator()" of "operator()(int)". A bracket that is the
// begin of the name, or of a part of it, "(anonymous namespace)::f", is not of
// its arguments.
std::string WithoutArguments(const std::string& function) {
  const std::size_t end = function.rfind(')');
  if (end == std::string::npos) return function;
  int depth = 0;
  for (std::size_t i = end + 1; i-- > 0;) {
    if (function[i] == ')') ++depth;
    if (function[i] == '(' && --depth == 0) {
      // "f(int) const"; but of Go's "main.(*T).f" this is no argument.
      const bool of_name =
          function.find_first_of(".:", end) != std::string::npos;
      return i == 0 || of_name ? function : function.substr(0, i);
    }
  }
  return function;
}

// How well a name fits a request: 0 not at all, the better the more.
int FitOf(const std::string& wanted, const std::string& function) {
  if (function == wanted) return 3;
  if (WithoutArguments(function) == wanted) return 2;
  return base::GlobMatches(wanted.c_str(), function.c_str()) ? 1 : 0;
}

struct Chosen {
  int fit = 0;
  std::set<std::pair<std::string, std::string>> names;  // function, dso
};

Chosen Choose(const CodePlaces& places,
              const std::set<std::uint32_t>& candidates,
              const AnnotationRequest& request) {
  Chosen best;
  for (const std::uint32_t number : candidates) {
    const CodePlace& place = places[number];
    const std::string file = CodeFileName(place.dso);
    if (!request.dso.empty() && request.dso != file &&
        !base::GlobMatches(request.dso.c_str(), file.c_str())) {
      continue;
    }
    const int fit = FitOf(request.function, place.function);
    if (fit == 0 || fit < best.fit) continue;
    if (fit > best.fit) best = {fit, {}};
    best.names.insert({place.function, place.dso});
  }
  return best;
}

absl::Status OneOnly(const Chosen& chosen, const AnnotationRequest& request) {
  if (chosen.names.size() == 1) return absl::OkStatus();
  if (chosen.names.empty()) {
    return absl::NotFoundError(absl::StrFormat(
        "no sample was taken in a function %s%s%s: `countrace report --by "
        "function` names them; a glob is of the whole name: '*%s*'",
        base::EscapeName(request.function),
        request.dso.empty() ? "" : " of a file ", base::EscapeName(request.dso),
        base::EscapeName(request.function)));
  }
  constexpr std::size_t kShown = 5;
  std::string names;
  std::size_t shown = 0;
  for (const auto& [function, dso] : chosen.names) {
    if (++shown > kShown) break;
    absl::StrAppendFormat(&names, "%s'%s' in %s", names.empty() ? "" : ", ",
                          base::EscapeName(function),
                          base::EscapeName(CodeFileName(dso)));
  }
  return absl::InvalidArgumentError(absl::StrFormat(
      "%d functions are called %s: %s%s; give the whole name of one, and --dso "
      "if several files have it",
      chosen.names.size(), base::EscapeName(request.function), names,
      chosen.names.size() > kShown ? ", ..." : ""));
}

// The samples of a request by place, and the functions that have them.
class SampledCode {
 public:
  SampledCode(const Samples& samples, const AnnotationRequest& request,
              Symbolizer& symbolizer)
      : samples_(samples),
        symbolizer_(symbolizer),
        places_(samples, SampleBy::kAddress, &symbolizer),
        functions_(samples, SampleBy::kFunction, &symbolizer),
        events_(EmptyTotals(samples)) {
    places_.Expect(request.chosen);
    for (const SampleSum& sum : samples.sums) {
      if (!request.chosen.empty() && !request.chosen[sum.context]) continue;
      events_[sum.event].Add(sum, samples);
      const std::uint32_t place = places_.Of(sum.frame).front();
      sums_[{sum.event, place}].Add(sum, samples);
      const auto [known, added] = sampled_.try_emplace(place);
      if (!added) continue;
      known->second = {samples.frames[sum.frame].file,
                       functions_.Of(sum.frame)};
      candidates_.insert(known->second.second.begin(),
                         known->second.second.end());
    }
  }

  Chosen FunctionsOf(const AnnotationRequest& request) const {
    return Choose(functions_, candidates_, request);
  }

  // The build id of its file, and where its code is.
  void AddRanges(Annotation& out) {
    std::set<CodeRange> ranges;
    // A mapped file has one build id; the first that is known is it.
    for (const auto& [number, code] : sampled_) {
      const CodePlace& place = places_[number];
      const auto& [file, chain] = code;
      if (!IsPart(out, chain)) continue;
      if (out.dso.build_id.empty()) out.dso = samples_.files[file];
      if (place.dso.front() != '/') continue;
      const auto address = symbolizer_.AddressOf(out.dso, place.address);
      if (!address) continue;
      auto range = symbolizer_.RangeOf(out.dso, *address);
      if (range) ranges.insert(*range);
    }
    // The end of a symbol without a size is another for each address.
    for (const CodeRange& range : ranges) {
      if (!out.ranges.empty() && out.ranges.back().begin == range.begin) {
        out.ranges.back().end = range.end;
      } else {
        out.ranges.push_back(range);
      }
    }
  }

  void AddAmounts(Annotation& out) {
    std::vector<SampleWeight> self(events_.size());
    std::map<std::tuple<std::uint32_t, std::string, std::uint32_t>,
             SampleWeight>
        lines;
    for (const auto& [key, weight] : sums_) {
      const auto& [event, number] = key;
      const CodePlace& place = places_[number];
      if (!IsPart(out, sampled_.at(number).second)) continue;
      std::uint64_t address = place.address;
      if (place.dso.front() == '/') {
        const auto own_terms = symbolizer_.AddressOf(out.dso, place.address);
        if (own_terms) address = *own_terms;
      }
      if (IsChosen(out, place)) {
        self[event].Add(weight);
        lines[{event, place.source, place.line}].Add(weight);
      }
      out.addresses.push_back({event, address, place.function, place.inlined,
                               place.source, place.line,
                               AmountOf(weight, events_[event])});
    }
    for (const auto& [key, weight] : lines) {
      const auto& [event, file, line] = key;
      out.lines.push_back(
          {event, file, line, AmountOf(weight, events_[event])});
    }
    for (std::size_t event = 0; event < events_.size(); ++event) {
      out.self.push_back(AmountOf(self[event], events_[event]));
    }
    std::sort(out.addresses.begin(), out.addresses.end(),
              [](const AnnotatedAddress& a, const AnnotatedAddress& b) {
                return std::tie(a.event, a.address) <
                       std::tie(b.event, b.address);
              });
  }

  std::vector<std::string> messages() const { return places_.messages(); }

 private:
  static bool IsChosen(const Annotation& out, const CodePlace& place) {
    return place.function == out.function && place.dso == out.dso.path;
  }
  // Its own code, and that of functions that are inlined into it.
  bool IsPart(const Annotation& out,
              const std::vector<std::uint32_t>& chain) const {
    return std::any_of(chain.begin(), chain.end(), [&](std::uint32_t number) {
      return IsChosen(out, functions_[number]);
    });
  }

  const Samples& samples_;
  Symbolizer& symbolizer_;
  CodePlaces places_, functions_;
  std::vector<SampleTotal> events_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, SampleWeight> sums_;
  // By the number of a place: its file, and the functions that have its code,
  // numbers of `functions_`.
  std::map<std::uint32_t, std::pair<std::uint32_t, std::vector<std::uint32_t>>>
      sampled_;
  std::set<std::uint32_t> candidates_;
};

}  // namespace

absl::StatusOr<Annotation> Annotate(const Samples& samples,
                                    const AnnotationRequest& request,
                                    Symbolizer& symbolizer) {
  SampledCode code(samples, request, symbolizer);
  const Chosen chosen = code.FunctionsOf(request);
  if (absl::Status one = OneOnly(chosen, request); !one.ok()) return one;
  Annotation out;
  out.function = chosen.names.begin()->first;
  out.dso.path = chosen.names.begin()->second;
  code.AddRanges(out);
  code.AddAmounts(out);
  out.messages = code.messages();
  return out;
}

}  // namespace countrace::rmap
