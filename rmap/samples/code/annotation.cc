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

}  // namespace

absl::StatusOr<Annotation> Annotate(const Samples& samples,
                                    const AnnotationRequest& request,
                                    Symbolizer& symbolizer) {
  CodePlaces places(samples, CodeBy::kAddress, &symbolizer);
  CodePlaces functions(samples, CodeBy::kFunction, &symbolizer);
  places.Expect(request.chosen);
  std::vector<SampleTotal> events = EmptyTotals(samples);
  std::map<std::pair<std::uint32_t, std::uint32_t>, SampleWeight> sums;
  // By the number of a place: its file, and the functions that have its code,
  // numbers of `functions`.
  std::map<std::uint32_t, std::pair<std::uint32_t, std::vector<std::uint32_t>>>
      sampled;
  std::set<std::uint32_t> candidates;
  for (const SampleSum& sum : samples.sums) {
    if (!request.chosen.empty() && !request.chosen[sum.context]) continue;
    events[sum.event].Add(sum);
    const std::uint32_t place = places.Of(sum.frame).front();
    sums[{sum.event, place}].Add(sum);
    const auto [known, added] = sampled.try_emplace(place);
    if (!added) continue;
    known->second = {samples.frames[sum.frame].file, functions.Of(sum.frame)};
    candidates.insert(known->second.second.begin(), known->second.second.end());
  }
  const Chosen chosen = Choose(functions, candidates, request);
  if (absl::Status one = OneOnly(chosen, request); !one.ok()) return one;

  Annotation out;
  out.function = chosen.names.begin()->first;
  out.dso.path = chosen.names.begin()->second;
  const auto is_chosen = [&](const CodePlace& place) {
    return place.function == out.function && place.dso == out.dso.path;
  };
  // Its own code, and that of functions that are inlined into it.
  const auto is_part = [&](const std::vector<std::uint32_t>& chain) {
    return std::any_of(chain.begin(), chain.end(), [&](std::uint32_t number) {
      return is_chosen(functions[number]);
    });
  };
  std::set<CodeRange> ranges;
  // A mapped file has one build id; the first that is known is it.
  for (const auto& [number, code] : sampled) {
    const CodePlace& place = places[number];
    const auto& [file, chain] = code;
    if (!is_part(chain)) continue;
    if (out.dso.build_id.empty()) out.dso = samples.files[file];
    if (place.dso.front() != '/') continue;
    const auto address = symbolizer.AddressOf(out.dso, place.address);
    if (!address) continue;
    auto range = symbolizer.RangeOf(out.dso, *address);
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

  std::vector<SampleWeight> self(events.size());
  std::map<std::tuple<std::uint32_t, std::string, std::uint32_t>, SampleWeight>
      lines;
  for (const auto& [key, weight] : sums) {
    const auto& [event, number] = key;
    const CodePlace& place = places[number];
    if (!is_part(sampled.at(number).second)) continue;
    std::uint64_t address = place.address;
    if (place.dso.front() == '/') {
      const auto own_terms = symbolizer.AddressOf(out.dso, place.address);
      if (own_terms) address = *own_terms;
    }
    if (is_chosen(place)) {
      self[event].hits += weight.hits;
      self[event].periods += weight.periods;
      SampleWeight& line = lines[{event, place.source, place.line}];
      line.hits += weight.hits;
      line.periods += weight.periods;
    }
    out.addresses.push_back({event, address, place.function, place.inlined,
                             place.source, place.line,
                             AmountOf(weight, events[event])});
  }
  for (const auto& [key, weight] : lines) {
    const auto& [event, file, line] = key;
    out.lines.push_back({event, file, line, AmountOf(weight, events[event])});
  }
  for (std::size_t event = 0; event < events.size(); ++event) {
    out.self.push_back(AmountOf(self[event], events[event]));
  }
  std::sort(out.addresses.begin(), out.addresses.end(),
            [](const AnnotatedAddress& a, const AnnotatedAddress& b) {
              return std::tie(a.event, a.address) <
                     std::tie(b.event, b.address);
            });
  out.messages = places.messages();
  return out;
}

}  // namespace countrace::rmap
