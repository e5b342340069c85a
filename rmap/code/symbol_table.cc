#include "rmap/code/symbol_table.h"

#include <algorithm>
#include <limits>

namespace countrace::rmap {
namespace {

int BindingOf(const GElf_Sym& symbol) {
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
      return 3;
    case STB_WEAK:
      return 2;
    case STB_LOCAL:
      return 1;
    default:
      return 0;
  }
}

bool IsFunction(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return type == STT_FUNC || type == STT_GNU_IFUNC;
}

bool IsPlace(const GElf_Sym& symbol) {
  const auto type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && type != STT_SECTION &&
         type != STT_FILE && type != STT_TLS;
}

}  // namespace

SymbolTable::SymbolTable(Dwfl_Module* module) : module_(module) {
  const int all = dwfl_module_getsymtab(module_);
  first_global_ = dwfl_module_getsymtab_first_global(module_);
  for (int i = 1; i < all; ++i) {
    GElf_Sym symbol;
    GElf_Addr value = 0;
    const char* const name = dwfl_module_getsym_info(
        module_, i, &symbol, &value, nullptr, nullptr, nullptr);
    if (name == nullptr || name[0] == '\0' || !IsPlace(symbol)) continue;
    if (symbol.st_size == 0) {
      sizeless_.push_back(value);
    } else {
      sized_.push_back({value, symbol.st_size, i, BindingOf(symbol)});
    }
  }
  std::sort(sizeless_.begin(), sizeless_.end());
  std::stable_sort(
      sized_.begin(), sized_.end(),
      [](const Symbol& a, const Symbol& b) { return a.value < b.value; });
  GElf_Addr end = 0;
  for (const Symbol& symbol : sized_) {
    // A damaged file may have a symbol that ends behind all addresses.
    const GElf_Addr room = std::numeric_limits<GElf_Addr>::max() - symbol.value;
    end = std::max(end, symbol.value + std::min<GElf_Addr>(symbol.bytes, room));
    ends_.push_back(end);
  }
}

const SymbolTable::Symbol* SymbolTable::Covering(GElf_Addr address) const {
  std::vector<const Symbol*> covering;
  auto at = static_cast<std::size_t>(
      std::upper_bound(sized_.begin(), sized_.end(), address,
                       [](GElf_Addr wanted, const Symbol& symbol) {
                         return wanted < symbol.value;
                       }) -
      sized_.begin());
  for (; at > 0 && ends_[at - 1] > address; --at) {
    const Symbol& symbol = sized_[at - 1];
    if (address - symbol.value < symbol.bytes) covering.push_back(&symbol);
  }
  std::sort(
      covering.begin(), covering.end(),
      [](const Symbol* a, const Symbol* b) { return a->number < b->number; });
  // As libdwfl chooses: global ones before all others; the one that begins
  // nearest, of these the shortest; but a better known one is taken whenever
  // it follows.
  for (const bool global : {true, false}) {
    const Symbol* best = nullptr;
    for (const Symbol* one : covering) {
      if ((one->number >= first_global_) != global) continue;
      if (best == nullptr || best->value < one->value ||
          best->binding < one->binding) {
        best = one;
      } else if (best->value == one->value && best->bytes > one->bytes &&
                 best->binding <= one->binding) {
        best = one;
      }
    }
    if (best != nullptr) return best;
    if (std::binary_search(sizeless_.begin(), sizeless_.end(), address)) break;
  }
  return nullptr;
}

std::optional<FoundSymbol> SymbolTable::At(GElf_Addr address) const {
  GElf_Sym symbol;
  FoundSymbol found;
  if (const Symbol* const best = Covering(address)) {
    GElf_Addr value = 0;
    const char* const name = dwfl_module_getsym_info(
        module_, best->number, &symbol, &value, nullptr, nullptr, nullptr);
    if (name == nullptr) return std::nullopt;
    return FoundSymbol{name, address - best->value, best->bytes,
                       IsFunction(symbol)};
  }
  // A label of assembly counts if no other symbol ends behind it, or if it is
  // here.
  const auto label =
      std::upper_bound(sizeless_.begin(), sizeless_.end(), address);
  if (label == sizeless_.begin()) return std::nullopt;
  const auto before = std::upper_bound(
      sized_.begin(), sized_.end(), address,
      [](GElf_Addr wanted, const Symbol& one) { return wanted < one.value; });
  if (*(label - 1) != address && before != sized_.begin() &&
      ends_[static_cast<std::size_t>(before - sized_.begin()) - 1] >
          *(label - 1)) {
    return std::nullopt;
  }
  const char* const name = dwfl_module_addrinfo(
      module_, address, &found.into, &symbol, nullptr, nullptr, nullptr);
  if (name == nullptr) return std::nullopt;
  found.name = name;
  found.bytes = symbol.st_size;
  found.is_function = IsFunction(symbol);
  return found;
}

}  // namespace countrace::rmap
