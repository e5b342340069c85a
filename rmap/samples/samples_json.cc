#include "rmap/samples/samples_json.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::rmap {
namespace {

using Json = nlohmann::ordered_json;

// `name`: "self" or "total".
void AddAmount(const SampledAmount& amount, const std::string& name, Json& to) {
  to[name + "_samples"] = amount.hits;
  to[name] = amount.value;
  to[name + "_lo"] = amount.lo;
  to[name + "_hi"] = amount.hi;
}

void AddSelf(const SampledAmount& amount, Json& to) {
  AddAmount(amount, "self", to);
}

}  // namespace

Json FunctionJson(const Samples& samples, const CodeRow& row) {
  Json one = {{"event", samples.events[row.event].name},
              {"in", row.in},
              {"function", row.function},
              {"dso", row.dso},
              {"inlined", row.inlined}};
  AddAmount(row.self, "self", one);
  AddAmount(row.total, "total", one);
  return one;
}

Json BooksJson(const Samples& samples, const SampleBooks& books) {
  const SampledEvent& event = samples.events[books.event];
  Json one;
  one["event"] = event.name;
  one["rate"] = event.rate;
  one["counted"] = nullptr;
  one["residual"] = nullptr;
  if (books.counted != 0) {
    one["counted"] = books.counted;
    one["residual"] = books.residual;
  }
  one["processes"] = books.processes;
  one["idle"] = books.idle;
  one["outside"] = books.outside;
  one["one_period_a_cpu"] = books.per_cpu;
  one["samples"] = books.hits;
  one["lost"] = books.lost;
  one["throttled"] = books.throttled;
  one["stacks_lost"] = books.stacks_lost;
  if (event.off_cpu) {
    one["shorter"] = books.shorter;
    one["shorter_ns"] = books.shorter_ns;
    one["lost_ns"] = books.lost_ns;
    one["unseen"] = books.unseen;
  }
  return one;
}

Json ListingJson(const Listing& listing) {
  const Annotation& annotation = listing.annotation;
  Json out;
  out["schema"] = "countrace.annotation/1";
  out["function"] = annotation.function;
  out["dso"] = annotation.dso.path;
  out["events"] = Json::array();
  for (std::uint32_t event = 0; event < annotation.self.size(); ++event) {
    Json one;
    one["event"] = listing.events[event];
    AddSelf(annotation.self[event], one);
    one["lines"] = Json::array();
    for (const AnnotatedLine& line : annotation.lines) {
      if (line.event != event) continue;
      Json row;
      row["file"] = nullptr;
      row["line"] = nullptr;
      if (!line.file.empty()) row["file"] = line.file;
      if (line.line != 0) row["line"] = line.line;
      row["text"] = nullptr;
      if (const auto text = LineText(listing, line.file, line.line)) {
        row["text"] = *text;
      }
      AddSelf(line.self, row);
      one["lines"].push_back(std::move(row));
    }
    std::map<std::uint64_t, const AnnotatedAddress*> hit;
    for (const AnnotatedAddress& address : annotation.addresses) {
      if (address.event == event) hit[address.address] = &address;
    }
    one["addresses"] = Json::array();
    const auto add = [&](std::uint64_t address, const std::string& function,
                         bool inlined, const std::string& file,
                         std::uint32_t line, const std::string* instruction,
                         const SampledAmount& amount) {
      Json row;
      row["address"] = absl::StrFormat("0x%x", address);
      row["function"] = function;
      row["inlined"] = inlined;
      row["file"] = nullptr;
      row["line"] = nullptr;
      if (!file.empty()) row["file"] = file;
      if (line != 0) row["line"] = line;
      row["instruction"] = nullptr;
      if (instruction != nullptr) row["instruction"] = *instruction;
      AddSelf(amount, row);
      one["addresses"].push_back(std::move(row));
    };
    for (const ListedInstruction& each : listing.instructions) {
      const CodeName& name = each.innermost;
      const auto found = hit.find(each.instruction.address);
      add(each.instruction.address, name.function, name.inlined, name.file,
          name.line, &each.instruction.text,
          found == hit.end() ? SampledAmount{} : found->second->self);
      if (found != hit.end()) hit.erase(found);
    }
    // Addresses that are no instruction's begin, or were not disassembled.
    for (const auto& [address, each] : hit) {
      add(address, each->function, each->inlined, each->file, each->line,
          nullptr, each->self);
    }
    out["events"].push_back(std::move(one));
  }
  out["notes"] = listing.notes;
  return out;
}

}  // namespace countrace::rmap
