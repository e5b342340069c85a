#include "runtime/recorder/events/pmu_event.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "base/posix/small_file.h"
#include "base/text/quantity_parse.h"
#include "base/text/trim.h"
#include "runtime/recorder/system/cpu_list.h"

namespace countrace::runtime {
namespace {

std::optional<std::uint64_t> ParseValue(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) {
    return base::ParseInteger(text.substr(2), 16);
  }
  return base::ParseInteger(text);
}

// Names become paths: only letters, digits, '_', '-' and '.', and no '.' first.
bool IsSafeName(std::string_view name) {
  return !name.empty() && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
         });
}

absl::Status Deposit(const PmuBits& place, std::uint64_t value,
                     std::string_view term, PmuConfig& config) {
  const std::size_t width = place.bits.size();
  if (width < 64 && (value >> width) != 0) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "term %s: value=0x%x does not fit its %d bits", term, value, width));
  }
  for (std::size_t i = 0; i < width; ++i) {
    const std::uint64_t mask = std::uint64_t{1} << place.bits[i];
    std::uint64_t& word = config.config[place.word];
    word = ((value >> i) & 1) != 0 ? word | mask : word & ~mask;
  }
  return absl::OkStatus();
}

absl::Status ApplyTerms(const std::string& directory, std::string_view terms,
                        bool aliases, PmuConfig& config) {
  while (!terms.empty()) {
    const std::size_t comma = std::min(terms.find(','), terms.size());
    const std::string_view term = base::Trim(terms.substr(0, comma));
    terms.remove_prefix(std::min(comma + 1, terms.size()));
    if (term.empty()) continue;
    const std::size_t equals = term.find('=');
    const std::string_view name = base::Trim(term.substr(0, equals));
    std::uint64_t value = 1;
    if (equals != std::string_view::npos) {
      const std::string_view text = base::Trim(term.substr(equals + 1));
      const std::optional<std::uint64_t> parsed = ParseValue(text);
      if (!parsed) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "term %s: value \"%s\" is not a number", name, text));
      }
      value = *parsed;
    }
    if (!IsSafeName(name)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("bad term name \"%s\"", name));
    }
    if (name == "config" || name == "config1" || name == "config2") {
      const std::size_t word =
          name.size() == 6 ? 0 : static_cast<std::size_t>(name[6] - '0');
      config.config[word] = value;
      continue;
    }
    const absl::StatusOr<std::string> format =
        base::ReadSmallFile(absl::StrFormat("%s/format/%s", directory, name));
    if (format.ok()) {
      const absl::StatusOr<PmuBits> place = ParsePmuFormat(*format);
      if (!place.ok()) return place.status();
      const absl::Status status = Deposit(*place, value, name, config);
      if (!status.ok()) return status;
      continue;
    }
    const absl::StatusOr<std::string> alias =
        aliases && equals == std::string_view::npos
            ? base::ReadSmallFile(
                  absl::StrFormat("%s/events/%s", directory, name))
            : absl::StatusOr<std::string>(absl::NotFoundError(""));
    if (!alias.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("the PMU has no term \"%s\"", name));
    }
    // An alias expands once: events do not refer to other events.
    const absl::Status status = ApplyTerms(directory, base::Trim(*alias),
                                           /*aliases=*/false, config);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PmuBits> ParsePmuFormat(std::string_view text) {
  const std::string_view line = base::Trim(text);
  const std::size_t colon = line.find(':');
  const std::string_view word = line.substr(0, colon);
  PmuBits place;
  if (word == "config1") {
    place.word = 1;
  } else if (word == "config2") {
    place.word = 2;
  } else if (word != "config") {
    return absl::InvalidArgumentError(
        absl::StrFormat("unknown PMU format \"%s\"", line));
  }
  // Without a bit list: the whole word.
  absl::StatusOr<std::vector<std::uint32_t>> bits = ParseCpuList(
      colon == std::string_view::npos ? "0-63" : line.substr(colon + 1));
  if (!bits.ok() || bits->empty() || bits->back() > 63) {
    return absl::InvalidArgumentError(
        absl::StrFormat("unknown PMU format \"%s\"", line));
  }
  place.bits.assign(bits->begin(), bits->end());
  return place;
}

absl::StatusOr<PmuConfig> ParsePmuEvent(std::string_view pmu,
                                        std::string_view terms,
                                        const std::string& root) {
  if (!IsSafeName(pmu)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("bad PMU name \"%s\"", pmu));
  }
  const std::string directory = absl::StrFormat("%s/%s", root, pmu);
  const std::optional<std::int64_t> type =
      base::ReadNumber(directory + "/type");
  if (!type) {
    return absl::InvalidArgumentError(
        absl::StrFormat("this machine has no PMU \"%s\"", pmu));
  }
  PmuConfig config;
  config.type = static_cast<std::uint32_t>(*type);
  if (const auto mask = base::ReadSmallFile(directory + "/cpumask");
      mask.ok()) {
    config.cpus = ParseCpuList(base::Trim(*mask)).value_or(config.cpus);
  }
  const absl::Status status =
      ApplyTerms(directory, terms, /*aliases=*/true, config);
  if (!status.ok()) return status;
  return config;
}

std::vector<std::string> ListPmuEvents(const std::string& root) {
  std::vector<std::string> events;
  const auto pmus = base::ListDirectory(AT_FDCWD, root);
  if (!pmus.ok()) return events;
  for (const std::string& pmu : *pmus) {
    const auto names = base::ListDirectory(
        AT_FDCWD, absl::StrFormat("%s/%s/events", root, pmu));
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      // "name.scale" and "name.unit" describe an event; they are no events.
      if (name.find('.') != std::string::npos) continue;
      events.push_back(absl::StrFormat("%s/%s/", pmu, name));
    }
  }
  return events;
}

}  // namespace countrace::runtime
