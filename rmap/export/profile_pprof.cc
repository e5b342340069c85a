// A profile as pprof reads it: github.com/google/pprof, proto/profile.proto,
// whose field numbers these are.
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "rmap/export/profile.h"
#include "rmap/export/table_writer.h"

namespace countrace::rmap {
namespace {

enum ProfileField : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kLocation = 4,
  kFunction = 5,
  kStrings = 6,
  kDuration = 10
};

// The texts of a profile, each once; 0 is the empty one.
class Strings {
 public:
  Strings() { Number(""); }
  std::int64_t Number(const std::string& text) {
    const auto [found, added] =
        numbers_.try_emplace(text, static_cast<std::int64_t>(texts_.size()));
    if (added) texts_.push_back(text);
    return found->second;
  }
  void Write(protozero::pbf_writer& out) const {
    std::string kept;
    for (const std::string& text : texts_) {
      const std::string_view whole = Utf8Text(text, kept);
      out.add_string(kStrings, whole.data(), whole.size());
    }
  }

 private:
  std::unordered_map<std::string, std::int64_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace

std::string PprofBytes(const Profile& profile) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  Strings strings;
  const auto add_type = [&](const std::string& name, const char* unit) {
    protozero::pbf_writer type(out, kSampleType);
    type.add_int64(1, strings.Number(name));
    type.add_int64(2, strings.Number(unit));
  };
  add_type(profile.times, "count");
  add_type(profile.weight, profile.unit.c_str());
  std::unordered_map<std::string, std::uint64_t> locations;
  for (const ProfileStack& stack : profile.stacks) {
    std::vector<std::uint64_t> places;  // innermost first
    for (std::size_t i = stack.frames.size(); i-- > 0;) {
      places.push_back(
          locations.try_emplace(stack.frames[i], locations.size() + 1)
              .first->second);
    }
    const std::int64_t values[] = {stack.times, stack.amount};
    protozero::pbf_writer sample(out, kSample);
    sample.add_packed_uint64(1, places.begin(), places.end());
    sample.add_packed_int64(2, std::begin(values), std::end(values));
    protozero::pbf_writer label(sample, 3);
    label.add_int64(1, strings.Number("process"));
    label.add_int64(2, strings.Number(stack.frames.front()));
  }
  for (const auto& [name, number] : locations) {
    protozero::pbf_writer location(out, kLocation);
    location.add_uint64(1, number);
    protozero::pbf_writer line(location, 4);
    line.add_uint64(1, number);
    line.add_int64(2, 0);
  }
  for (const auto& [name, number] : locations) {
    protozero::pbf_writer function(out, kFunction);
    function.add_uint64(1, number);
    function.add_int64(2, strings.Number(name));
    function.add_int64(3, strings.Number(name));
  }
  strings.Write(out);
  out.add_int64(kDuration,
                static_cast<std::int64_t>(profile.end_ns - profile.begin_ns));
  return bytes;
}

}  // namespace countrace::rmap
