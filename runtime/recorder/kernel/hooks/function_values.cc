#include "runtime/recorder/kernel/hooks/function_values.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "runtime/recorder/kernel/hooks/argument_sources.h"

namespace countrace::runtime {
namespace {

using logformat::PayloadType;

#if defined(__x86_64__)
constexpr const char* kArgumentRegisters[] = {"rdi", "rsi", "rdx",
                                              "rcx", "r8",  "r9"};
#elif defined(__aarch64__)
constexpr const char* kArgumentRegisters[] = {"x0", "x1", "x2",
                                              "x3", "x4", "x5"};
#else
constexpr const char* kArgumentRegisters[] = {"r3", "r4", "r5",
                                              "r6", "r7", "r8"};
#endif
#if defined(__powerpc64__)
constexpr bool kDecimalsTakeRegisters = true;
#else
constexpr bool kDecimalsTakeRegisters = false;
#endif

// How a type is passed and stored.
struct PassedType {
  enum class Kind : std::uint8_t { kWord, kDecimal, kOther };
  Kind kind = Kind::kOther;
  PayloadType type = PayloadType::kInt;
  unsigned bytes = 8;
  bool text = false;
  std::string name;  // for the user
};

std::optional<Dwarf_Die> TypeOf(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  Dwarf_Die type;
  if (dwarf_attr_integrate(die, DW_AT_type, &attribute) == nullptr ||
      dwarf_formref_die(&attribute, &type) == nullptr) {
    return std::nullopt;
  }
  return type;
}

// The type behind qualifiers and typedefs. The depth bounds damaged files.
std::optional<Dwarf_Die> Peeled(Dwarf_Die type) {
  for (int depth = 0; depth < 64; ++depth) {
    switch (dwarf_tag(&type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_restrict_type:
      case DW_TAG_atomic_type: {
        const auto next = TypeOf(&type);
        if (!next) return std::nullopt;
        type = *next;
        break;
      }
      default:
        return type;
    }
  }
  return std::nullopt;
}

std::string NameOf(Dwarf_Die* die) {
  const char* const name = dwarf_diename(die);
  return name == nullptr ? "" : name;
}

bool IsCharacter(Dwarf_Die* pointer) {
  const auto target = TypeOf(pointer);
  auto peeled = target ? Peeled(*target) : std::nullopt;
  return peeled && dwarf_tag(&*peeled) == DW_TAG_base_type &&
         NameOf(&*peeled) == "char";
}

PassedType PassedAs(Dwarf_Die* parameter) {
  PassedType passed;
  auto declared = TypeOf(parameter);
  if (declared) passed.name = NameOf(&*declared);
  auto type = declared ? Peeled(*declared) : std::nullopt;
  if (!type) return passed;
  if (passed.name.empty()) passed.name = NameOf(&*type);
  const int bytes = dwarf_bytesize(&*type);
  switch (dwarf_tag(&*type)) {
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
      passed.kind = PassedType::Kind::kWord;
      passed.text = IsCharacter(&*type);
      passed.type = passed.text ? PayloadType::kString : PayloadType::kPointer;
      if (passed.name.empty()) passed.name = passed.text ? "char *" : "pointer";
      return passed;
    case DW_TAG_enumeration_type:
    case DW_TAG_base_type:
      break;
    default:
      return passed;
  }
  Dwarf_Attribute attribute;
  Dwarf_Word encoding = DW_ATE_signed;
  if (dwarf_attr_integrate(&*type, DW_AT_encoding, &attribute) != nullptr) {
    dwarf_formudata(&attribute, &encoding);
  }
  const bool fits = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (encoding == DW_ATE_float && bytes <= 8) {
    passed.kind = PassedType::Kind::kDecimal;
  } else if (fits && encoding != DW_ATE_float &&
             encoding != DW_ATE_complex_float) {
    passed.kind = PassedType::Kind::kWord;
    passed.bytes = static_cast<unsigned>(bytes);
    const bool is_signed =
        encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
    passed.type = is_signed ? PayloadType::kInt : PayloadType::kUnsigned;
  }
  return passed;
}

HookValue RegisterValue(std::size_t index) {
  HookValue value;
  value.name = kArgumentRegisters[index];
  value.declared = "register";
  value.source = FunctionSources().arguments[index];
  return value;
}

// The children of a function are its parameters, in order.
std::vector<HookValue> Parameters(Dwarf_Die* function) {
  std::vector<HookValue> values;
  // A structure comes back through a pointer that is an argument, or not.
  auto result = TypeOf(function);
  if (result) result = Peeled(*result);
  const bool hidden = result && (dwarf_tag(&*result) == DW_TAG_structure_type ||
                                 dwarf_tag(&*result) == DW_TAG_class_type ||
                                 dwarf_tag(&*result) == DW_TAG_union_type);
  std::string lost = hidden ? "its function returns a structure" : "";
  std::size_t next = 0;
  Dwarf_Die child;
  if (dwarf_child(function, &child) != 0) return values;
  do {
    if (dwarf_tag(&child) != DW_TAG_formal_parameter) continue;
    const PassedType passed = PassedAs(&child);
    HookValue value;
    const std::size_t index = next;
    const bool word = passed.kind == PassedType::Kind::kWord;
    if (word || kDecimalsTakeRegisters) ++next;
    if (word && index < std::size(kArgumentRegisters))
      value = RegisterValue(index);
    if (passed.kind == PassedType::Kind::kDecimal) {
      value.unknown =
          "the kernel does not hand floating-point registers to probes";
    } else if (!word) {
      if (lost.empty()) lost = "a structure before it may be in registers";
      value.unknown = "it is no number, pointer or text";
    } else if (!lost.empty()) {
      value.unknown = lost + ": name its register";
    } else if (index >= std::size(kArgumentRegisters)) {
      value.unknown = "it is on the stack";
    }
    value.name = NameOf(&child);
    value.declared = passed.name;
    value.type = passed.type;
    value.source.bytes = static_cast<unsigned char>(passed.bytes);
    value.source.is_signed = passed.type == PayloadType::kInt ? 1 : 0;
    if (passed.text) value.text = COUNTRACE_TEXT_USER;
    if (value.name.empty()) value.name = absl::StrFormat("arg%d", index);
    values.push_back(std::move(value));
  } while (dwarf_siblingof(&child, &child) == 0);
  return values;
}

struct Search {
  Dwarf_Addr address;
  std::optional<Dwarf_Die> found;
};

int TakeIfThere(Dwarf_Die* function, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  Dwarf_Addr begin = 0;
  if (dwarf_entrypc(function, &begin) != 0 || begin != search.address) {
    return DWARF_CB_OK;
  }
  // The compiler changed how it is called (GCC's .isra, .constprop).
  Dwarf_Attribute attribute;
  Dwarf_Word convention = DW_CC_normal;
  if (dwarf_attr_integrate(function, DW_AT_calling_convention, &attribute) !=
      nullptr) {
    dwarf_formudata(&attribute, &convention);
  }
  if (convention != DW_CC_nocall) search.found = *function;
  return DWARF_CB_ABORT;
}

}  // namespace

struct FunctionValues::Session {
  Dwfl_Callbacks callbacks{};
  Dwfl* dwfl = nullptr;
  Dwfl_Module* module = nullptr;
  ~Session() {
    if (dwfl != nullptr) dwfl_end(dwfl);
  }

  std::optional<Dwarf_Die> Find(const FunctionSymbol& function) const {
    Dwarf_Addr address = 0;
    if (module == nullptr || !AddressOf(function.offset, address)) {
      return std::nullopt;
    }
    Dwarf_Addr bias = 0;
    Dwarf_Die* const unit = dwfl_module_addrdie(module, address, &bias);
    if (unit == nullptr) return std::nullopt;
    Search search{address - bias, std::nullopt};
    dwarf_getfuncs(unit, TakeIfThere, &search, 0);
    return search.found;
  }

  // The address in the session of a byte of the file.
  bool AddressOf(std::uint64_t offset, Dwarf_Addr& address) const {
    GElf_Addr bias = 0;
    Elf* const elf = dwfl_module_getelf(module, &bias);
    std::size_t headers = 0;
    if (elf == nullptr || elf_getphdrnum(elf, &headers) != 0) return false;
    for (std::size_t i = 0; i < headers; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) continue;
      if (header.p_type != PT_LOAD || offset < header.p_offset ||
          offset - header.p_offset >= header.p_filesz) {
        continue;
      }
      address = bias + header.p_vaddr + (offset - header.p_offset);
      if ((header.p_flags & PF_X) != 0) return true;
    }
    return false;
  }
};

FunctionValues::FunctionValues(const std::string& path)
    : session_(std::make_unique<Session>()) {
  session_->callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
  session_->callbacks.section_address = dwfl_offline_section_address;
  session_->dwfl = dwfl_begin(&session_->callbacks);
  if (session_->dwfl == nullptr) return;
  session_->module = dwfl_report_offline(session_->dwfl, "", path.c_str(), -1);
  dwfl_report_end(session_->dwfl, nullptr, nullptr);
}

FunctionValues::~FunctionValues() = default;

std::optional<std::vector<HookValue>> FunctionValues::ParametersOf(
    const FunctionSymbol& function) const {
  auto found = session_->Find(function);
  if (!found) return std::nullopt;
  return Parameters(&*found);
}

std::vector<HookValue> FunctionValues::Registers() {
  std::vector<HookValue> values;
  for (std::size_t i = 0; i < std::size(kArgumentRegisters); ++i) {
    values.push_back(RegisterValue(i));
  }
  for (std::size_t i = 0; i < std::size(kArgumentRegisters); ++i) {
    values.push_back(RegisterValue(i));
    values.back().name = absl::StrFormat("arg%d", i);
  }
  return values;
}

}  // namespace countrace::runtime
