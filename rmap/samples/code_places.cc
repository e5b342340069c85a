#include "rmap/samples/code_places.h"

#include <utility>

#include "logformat/sample_points.h"

namespace countrace::rmap {
namespace {

constexpr char kStripped[] = "[stripped]";

}  // namespace

CodePlaces::CodePlaces(const Samples& samples, CodeBy by)
    : samples_(samples), by_(by), of_frame_(samples.frames.size()) {}

std::uint32_t CodePlaces::Of(std::uint32_t frame) {
  std::optional<std::uint32_t>& known = of_frame_[frame];
  if (!known) {
    CodePlace place = Look(frame);
    if (by_ == CodeBy::kDso) place.function.clear();
    const auto [found, added] =
        numbers_.try_emplace(place, static_cast<std::uint32_t>(places_.size()));
    if (added) places_.push_back(std::move(place));
    known = found->second;
  }
  return *known;
}

CodePlace CodePlaces::Look(std::uint32_t number) {
  CodePlace place;
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

std::string CodeFileName(const std::string& path) {
  if (path.empty() || path.front() != '/') return path;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace countrace::rmap
