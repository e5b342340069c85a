#include "logformat/rules/gating.h"

namespace countrace::logformat {
namespace {

constexpr Gating kNothing = {false, false, false, false};

// "01001": DIS, DP, DU, DMS, DMR.
std::optional<Gating> ParseMonitorBits(std::string_view text) {
  constexpr std::size_t kBits = 5;
  if (text.size() != kBits ||
      text.find_first_not_of("01") != std::string_view::npos) {
    return std::nullopt;
  }
  std::uint32_t bits = 0;
  for (const char c : text) bits = bits << 1 | (c == '1' ? 1u : 0u);
  return GatingOfMonitorBits(bits);
}

}  // namespace

Gating GatingOfMonitorBits(std::uint32_t bits) {
  constexpr std::uint32_t kDis = 16, kDp = 8, kDu = 4, kDms = 2, kDmr = 1;
  if ((bits & kDis) != 0) return kNothing;
  Gating gating;
  gating.kernel = (bits & kDp) == 0;
  gating.user = (bits & kDu) == 0;
  gating.marked = (bits & kDms) == 0;
  gating.unmarked = (bits & kDmr) == 0;
  return gating.nothing() ? kNothing : gating;
}

std::optional<Gating> ParseGating(std::string_view text) {
  if (text == "all") return Gating();
  if (text == "none") return kNothing;
  if (const auto bits = ParseMonitorBits(text)) return bits;
  Gating named = kNothing;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    if (word == "user") {
      named.user = true;
    } else if (word == "kernel") {
      named.kernel = true;
    } else if (word == "marked") {
      named.marked = true;
    } else if (word == "unmarked") {
      named.unmarked = true;
    } else {
      return std::nullopt;
    }
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  if (!named.user && !named.kernel) named.user = named.kernel = true;
  if (!named.marked && !named.unmarked) named.marked = named.unmarked = true;
  return named;
}

std::string GatingText(const Gating& gating) {
  if (gating.nothing()) return "none";
  std::string text;
  const auto word = [&text](const char* name) {
    text += (text.empty() ? "" : ",");
    text += name;
  };
  if (!gating.every_mode()) word(gating.user ? "user" : "kernel");
  if (!gating.every_process()) word(gating.marked ? "marked" : "unmarked");
  return text.empty() ? "all" : text;
}

std::uint32_t GatingBits(const Gating& gating) {
  return (gating.user ? 1u : 0u) | (gating.kernel ? 2u : 0u) |
         (gating.marked ? 4u : 0u) | (gating.unmarked ? 8u : 0u) | kGatingGiven;
}

Gating GatingOfBits(std::uint32_t bits) {
  const Gating gating = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                         (bits & 8) != 0};
  return gating.nothing() ? kNothing : gating;
}

EventMode ModeOfEvent(std::string_view event) {
  const std::size_t at = event.find_last_of(":/");
  if (at == std::string_view::npos) return {};
  const std::string_view modifier = event.substr(at + 1);
  if (modifier.empty() ||
      modifier.find_first_not_of("uk") != std::string_view::npos) {
    return {};
  }
  return {modifier.find('u') != std::string_view::npos,
          modifier.find('k') != std::string_view::npos};
}

}  // namespace countrace::logformat
