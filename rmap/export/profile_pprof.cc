// A profile as pprof reads it: github.com/google/pprof, proto/profile.proto,
// whose field numbers these are.
#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rmap/export/profile.h"
#include "rmap/export/table_writer.h"

namespace countrace::rmap {
namespace {

enum ProfileField : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
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

// Numbers from 1 on, of what is written once.
template <typename Key>
class Numbers {
 public:
  // Second: it is new.
  std::pair<std::uint64_t, bool> Of(const Key& key) {
    const auto [found, added] = numbers_.try_emplace(key, numbers_.size() + 1);
    return {found->second, added};
  }

 private:
  std::map<Key, std::uint64_t> numbers_;
};

class PprofWriter {
 public:
  std::string Bytes(const Profile& profile) {
    AddType(profile.times, "count");
    AddType(profile.weight, profile.unit);
    for (const ProfileStack& stack : profile.stacks) AddStack(profile, stack);
    for (std::size_t i = 0; i < profile.places.size(); ++i) {
      AddPlace(i + 1, profile.places[i]);
    }
    strings_.Write(out_);
    out_.add_int64(kDuration, static_cast<std::int64_t>(profile.end_ns -
                                                        profile.begin_ns));
    return std::move(bytes_);
  }

 private:
  void AddType(const std::string& name, const std::string& unit) {
    protozero::pbf_writer type(out_, kSampleType);
    type.add_int64(1, strings_.Number(name));
    type.add_int64(2, strings_.Number(unit));
  }

  void AddStack(const Profile& profile, const ProfileStack& stack) {
    std::vector<std::uint64_t> locations;
    for (const std::uint32_t place : stack.places) {
      locations.push_back(place + std::uint64_t{1});
    }
    const std::int64_t values[] = {stack.times, stack.amount};
    protozero::pbf_writer sample(out_, kSample);
    sample.add_packed_uint64(1, locations.begin(), locations.end());
    sample.add_packed_int64(2, std::begin(values), std::end(values));
    const auto add_label = [&](const char* key, const std::string& text) {
      if (text.empty()) return;
      protozero::pbf_writer label(sample, 3);
      label.add_int64(1, strings_.Number(key));
      label.add_int64(2, strings_.Number(text));
    };
    add_label("process",
              profile.places[stack.places.back()].lines.back().function);
    add_label("thread", stack.labels.thread);
    add_label("segment", stack.labels.segment);
    add_label("syscall", stack.labels.system_call);
  }

  void AddPlace(std::uint64_t number, const ProfilePlace& place) {
    std::uint64_t mapping = 0;
    if (!place.dso.empty()) {
      const auto [known, added] = mappings_.Of({place.dso, place.build_id});
      mapping = known;
      if (added) AddMapping(mapping, place);
    }
    std::vector<std::uint64_t> functions;
    for (const ProfileLine& line : place.lines) {
      const auto [function, added] =
          functions_.Of({line.function, line.source});
      functions.push_back(function);
      if (added) AddFunction(function, line);
    }
    protozero::pbf_writer location(out_, kLocation);
    location.add_uint64(1, number);
    if (mapping != 0) {
      location.add_uint64(2, mapping);
      location.add_uint64(3, place.address);
    }
    for (std::size_t i = 0; i < functions.size(); ++i) {
      protozero::pbf_writer line(location, 4);
      line.add_uint64(1, functions[i]);
      line.add_int64(2, place.lines[i].line);
    }
  }

  // Addresses are places in the file, so one mapping has all of it.
  void AddMapping(std::uint64_t number, const ProfilePlace& place) {
    protozero::pbf_writer mapping(out_, kMapping);
    mapping.add_uint64(1, number);
    mapping.add_uint64(3, ~std::uint64_t{0});
    mapping.add_int64(5, strings_.Number(place.dso));
    mapping.add_int64(6, strings_.Number(place.build_id));
    constexpr protozero::pbf_tag_type kKnown[] = {7, 8, 9, 10};
    for (const auto what : kKnown) {  // functions, files, lines, inlined ones
      mapping.add_bool(what, true);
    }
  }

  void AddFunction(std::uint64_t number, const ProfileLine& line) {
    protozero::pbf_writer function(out_, kFunction);
    function.add_uint64(1, number);
    function.add_int64(2, strings_.Number(line.function));
    function.add_int64(3, strings_.Number(line.function));
    function.add_int64(4, strings_.Number(line.source));
  }

  std::string bytes_;
  protozero::pbf_writer out_{bytes_};
  Strings strings_;
  Numbers<std::pair<std::string, std::string>> mappings_, functions_;
};

}  // namespace

std::string PprofBytes(const Profile& profile) {
  return PprofWriter().Bytes(profile);
}

}  // namespace countrace::rmap
