#include "core/base/own_object.h"
#include "core/config/environment.h"
#include "core/config/options.h"
#include "core/hooks/hooks.h"
#include "plugin/nvtx/annotations.h"
#include "plugin/nvtx/domains.h"
#include "plugin/nvtx/wide_text.h"

#include <new>
#include <nvtx3/nvToolsExt.h>
#include <string.h>

/// The functions that NVTX calls in place of its own, and the entry point by which it gets them.
/// Handles are numbers.
namespace megascope::nvtx {
namespace {

std::uint64_t number_of(nvtxDomainHandle_t domain) noexcept {
  return reinterpret_cast<std::uintptr_t>(domain);
}
template <class Handle>
Handle handle_of(std::uint64_t number) noexcept {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(number));
}
std::string_view text_of(const char* text) noexcept {
  return text == nullptr ? std::string_view()
                         : std::string_view(text, strnlen(text, kMaxMessageBytes));
}
constexpr std::uint64_t kDefault = kDefaultDomain;

/// The variants of NVTX: with attributes, with text, with wide text.
template <class From>
void mark_event(From from) {
  mark(kDefault, from);
}
template <class From>
nvtxRangeId_t start_event(From from) {
  return start(kDefault, from);
}
template <class From>
int push_event(From from) {
  return push(kDefault, from);
}
using Attributes = const nvtxEventAttributes_t*;
using Text = const char*;
using Wide = const wchar_t*;

void end_range(nvtxRangeId_t range) { end(range); }
int pop_range() { return pop(kDefault); }
void name_category_text(std::uint32_t category, const char* name) {
  name_category(kDefaultDomain, category, text_of(name));
}
void name_category_wide(std::uint32_t category, const wchar_t* name) {
  name_category(kDefaultDomain, category, WideText(name).view());
}
void name_thread_text(std::uint32_t thread, const char* name) {
  hooks::name_thread(thread, text_of(name));
}
void name_thread_wide(std::uint32_t thread, const wchar_t* name) {
  hooks::name_thread(thread, WideText(name).view());
}

void domain_mark(nvtxDomainHandle_t domain, Attributes event) { mark(number_of(domain), event); }
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, Attributes event) {
  return start(number_of(domain), event);
}
void domain_end(nvtxDomainHandle_t, nvtxRangeId_t range) { end(range); }
int domain_push(nvtxDomainHandle_t domain, Attributes event) {
  return push(number_of(domain), event);
}
int domain_pop(nvtxDomainHandle_t domain) { return pop(number_of(domain)); }
DomainId known(nvtxDomainHandle_t domain) noexcept { return known_domain(number_of(domain)); }
void domain_category_text(nvtxDomainHandle_t domain, std::uint32_t category, const char* name) {
  name_category(known(domain), category, text_of(name));
}
void domain_category_wide(nvtxDomainHandle_t domain, std::uint32_t category, const wchar_t* name) {
  name_category(known(domain), category, WideText(name).view());
}
nvtxStringHandle_t register_narrow(nvtxDomainHandle_t domain, const char* text) {
  return handle_of<nvtxStringHandle_t>(register_text(number_of(domain), text_of(text)));
}
nvtxStringHandle_t register_wide(nvtxDomainHandle_t domain, const wchar_t* text) {
  return handle_of<nvtxStringHandle_t>(register_text(number_of(domain), WideText(text).view()));
}
nvtxDomainHandle_t create_domain(const char* name) {
  return handle_of<nvtxDomainHandle_t>(domain(text_of(name)));
}
nvtxDomainHandle_t create_domain_wide(const wchar_t* name) {
  return handle_of<nvtxDomainHandle_t>(domain(WideText(name).view()));
}

/// The function table of one NVTX module. Functions that it has no entry for (older NVTX) are
/// omitted.
class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &places_, &size_) == 0) size_ = 0;
  }
  template <class Function>
  void set(unsigned id, Function function) const {
    if (places_ != nullptr && id < size_ && places_[id] != nullptr)
      *places_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable places_ = nullptr;
  unsigned size_ = 0;
};

void set_core(const Table& table) {
  table.set(NVTX_CBID_CORE_MarkEx, mark_event<Attributes>);
  table.set(NVTX_CBID_CORE_MarkA, mark_event<Text>);
  table.set(NVTX_CBID_CORE_MarkW, mark_event<Wide>);
  table.set(NVTX_CBID_CORE_RangeStartEx, start_event<Attributes>);
  table.set(NVTX_CBID_CORE_RangeStartA, start_event<Text>);
  table.set(NVTX_CBID_CORE_RangeStartW, start_event<Wide>);
  table.set(NVTX_CBID_CORE_RangeEnd, end_range);
  table.set(NVTX_CBID_CORE_RangePushEx, push_event<Attributes>);
  table.set(NVTX_CBID_CORE_RangePushA, push_event<Text>);
  table.set(NVTX_CBID_CORE_RangePushW, push_event<Wide>);
  table.set(NVTX_CBID_CORE_RangePop, pop_range);
  table.set(NVTX_CBID_CORE_NameCategoryA, name_category_text);
  table.set(NVTX_CBID_CORE_NameCategoryW, name_category_wide);
  table.set(NVTX_CBID_CORE_NameOsThreadA, name_thread_text);
  table.set(NVTX_CBID_CORE_NameOsThreadW, name_thread_wide);
}

void set_domains(const Table& table) {
  table.set(NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
  table.set(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
  table.set(NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
  table.set(NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  table.set(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  table.set(NVTX_CBID_CORE2_DomainNameCategoryA, domain_category_text);
  table.set(NVTX_CBID_CORE2_DomainNameCategoryW, domain_category_wide);
  table.set(NVTX_CBID_CORE2_DomainRegisterStringA, register_narrow);
  table.set(NVTX_CBID_CORE2_DomainRegisterStringW, register_wide);
  table.set(NVTX_CBID_CORE2_DomainCreateA, create_domain);
  table.set(NVTX_CBID_CORE2_DomainCreateW, create_domain_wide);
}

}  // namespace

/// Returns the entry point of a preloaded MegaScope, which is the one that records, if NVTX loaded
/// another copy.
NvtxInitializeInjectionNvtxFunc_t preloaded_other() noexcept {
  void* const other = found_by_program("megascope_version");
  if (other == nullptr || is_of_this_library(other)) return nullptr;
  return reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(
      found_by_program("InitializeInjectionNvtx2"));
}

/// Returns whether NVTX is recorded. If not, its calls stay no-ops at no cost.
bool is_wanted() noexcept {
  try {
    const config::Options options = config::load_options(config::environment_entries()).values;
    return options.enable && options.trace != config::Granularity::kCalls;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool attach(NvtxGetExportTableFunc_t export_table) noexcept {
  if (export_table == nullptr || !is_wanted()) return false;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(
      export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks ||
      callbacks->GetModuleFunctionTable == nullptr)
    return false;
  set_core(Table(*callbacks, NVTX_CB_MODULE_CORE));
  set_domains(Table(*callbacks, NVTX_CB_MODULE_CORE2));
  const auto* version = static_cast<const NvtxExportTableVersionInfo*>(
      export_table(NVTX_ETID_VERSIONINFO));
  if (version != nullptr && version->struct_size >= sizeof *version &&
      version->SetInjectionNvtxVersion != nullptr) {
    version->SetInjectionNvtxVersion(NVTX_VERSION);
  }
  return true;
}

}  // namespace megascope::nvtx

/// Entry point. NVTX calls it once for each executable or library that contains NVTX functions.
/// Returns 0 if NVTX must not use this library.
extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t export_table) {
  if (const auto other = megascope::nvtx::preloaded_other()) return other(export_table);
  return megascope::nvtx::attach(export_table) ? 1 : 0;
}
