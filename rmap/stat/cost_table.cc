#include "rmap/stat/cost_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/source_place.h"
#include "base/toml/toml_limits.h"
#include "base/toml/untrusted_toml.h"

namespace countrace::rmap {
namespace {

constexpr double kMostCost = 1e15;

class CostFile {
 public:
  CostFile(std::string_view text, const std::string& file)
      : text_(text), file_(file) {}

  absl::StatusOr<CostTable> Read() {
    absl::Status limits =
        base::CheckTomlLimits(text_, file_, {.bytes = kMaxCostFileBytes});
    if (!limits.ok()) return limits;
    const toml::parse_result parsed = toml::parse(text_, file_);
    if (!parsed) {
      return ErrorAt(parsed.error().source(),
                     base::EscapeName(parsed.error().description()));
    }
    const toml::table& root = parsed.table();
    for (const auto& [key, value] : root) {
      const std::string_view word = key.str();
      absl::Status status;
      if (word == "title") {
        status = ReadText(key, value, table_.title);
      } else if (word == "clock_mhz") {
        double mhz = 0;
        status = ReadNumber(key, value, mhz);
        if (status.ok() && mhz <= 0) {
          status = ErrorAt(value.source(), "clock_mhz must be more than 0");
        }
        unit_ns_ = 1000 / mhz;
      } else if (word != "event") {
        status = ErrorAt(key.source(),
                         absl::StrFormat("`%s` is not known here; there are "
                                         "title, clock_mhz, [[event]]",
                                         base::EscapeName(word)));
      }
      if (!status.ok()) return status;
    }
    const toml::node* const events = root.get("event");
    if (events == nullptr || !events->is_array_of_tables()) {
      return base::ErrorAt({file_}, "there is no [[event]]");
    }
    for (const toml::node& event : *events->as_array()) {
      const absl::Status status = AddEvent(*event.as_table());
      if (!status.ok()) return status;
    }
    return std::move(table_);
  }

 private:
  absl::Status ErrorAt(const toml::source_region& at,
                       std::string_view message) const {
    return base::ErrorAt({file_, std::max<std::size_t>(1, at.begin.line),
                          std::max<std::size_t>(1, at.begin.column)},
                         message);
  }

  absl::Status ReadText(const toml::key& key, const toml::node& value,
                        std::string& text) const {
    if (!value.is_string()) {
      return ErrorAt(value.source(),
                     absl::StrFormat("%s must be a text", key.str()));
    }
    text = value.as_string()->get();
    return absl::OkStatus();
  }

  absl::Status ReadNumber(const toml::key& key, const toml::node& value,
                          double& number) const {
    const std::optional<double> got =
        value.is_number() ? value.value<double>() : std::nullopt;
    if (!got || !(*got >= 0 && *got <= kMostCost)) {
      return ErrorAt(
          value.source(),
          absl::StrFormat("%s must be a number from 0 to 1e15", key.str()));
    }
    number = *got;
    return absl::OkStatus();
  }

  absl::Status AddEvent(const toml::table& from) {
    CostedEvent event;
    double typical = -1, min = -1, max = -1;
    for (const auto& [key, value] : from) {
      const std::string_view word = key.str();
      absl::Status status;
      if (word == "name") {
        status = ReadText(key, value, event.name);
      } else if (word == "leader") {
        status = ReadText(key, value, event.leader);
      } else if (word == "typical") {
        status = ReadNumber(key, value, typical);
      } else if (word == "min") {
        status = ReadNumber(key, value, min);
      } else if (word == "max") {
        status = ReadNumber(key, value, max);
      } else {
        status = ErrorAt(key.source(),
                         absl::StrFormat("`%s` is not known here; there are "
                                         "name, leader, typical, min, max",
                                         base::EscapeName(word)));
      }
      if (!status.ok()) return status;
    }
    if (event.name.empty())
      return ErrorAt(from.source(), "the event has no name");
    const int given = (typical >= 0) + (min >= 0) + (max >= 0);
    if (given == 3 && (min > typical || typical > max)) {
      return ErrorAt(from.source(),
                     absl::StrFormat("min %g <= typical %g <= max %g does not "
                                     "hold",
                                     min, typical, max));
    }
    if (given != 0 && given != 3) {
      return ErrorAt(from.source(),
                     "give typical, min and max, or none of them");
    }
    if (given == 3) {
      event.cost = {typical * unit_ns_, min * unit_ns_, max * unit_ns_};
    }
    table_.events.push_back(std::move(event));
    return absl::OkStatus();
  }

  const std::string_view text_;
  const std::string& file_;
  double unit_ns_ = 1;
  CostTable table_;
};

}  // namespace

absl::StatusOr<CostTable> ParseCostTable(std::string_view text,
                                         const std::string& file) {
  return CostFile(text, file).Read();
}

}  // namespace countrace::rmap
