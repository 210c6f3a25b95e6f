#include "mpi_layer/semantics/wrapped_functions.h"

#include "mpi_layer/semantics/io.h"
#include "mpi_layer/semantics/local.h"
#include "mpi_layer/semantics/neighbor.h"
#include "mpi_layer/semantics/p2p.h"
#include "mpi_layer/semantics/request.h"
#include "mpi_layer/semantics/rma.h"
#include "mpi_layer/semantics/spawn.h"
#include "mpi_layer/table/regions.h"

#include <algorithm>
#include <string_view>

namespace megascope::mpi {
namespace {

/// Recorded by lifecycle/lifecycle.cpp and lifecycle/control.cpp; they have no Semantics.
constexpr std::string_view recorded_elsewhere(Fn fn) {
  if (fn == Fn::Init || fn == Fn::Init_thread) return "start of the process, its communicators";
  if (fn == Fn::Finalize) return "end of the process";
  if (fn == Fn::Abort) return "end of the process by it";
  return fn == Fn::Pcontrol ? "stop and resumption of recording" : "";
}
struct DepthRow {
  Depth depth;
  std::string_view recorded_fields;
};
template <Fn F>
constexpr DepthRow depth_row() {
  if constexpr (!recorded_elsewhere(F).empty()) {
    return {Depth::kFullSemantics, recorded_elsewhere(F)};
  } else if constexpr (
      requires { Semantics<F>::kSaysNothing; } || requires { Semantics<F>::kTracksHandlesOnly; }) {
    return {Depth::kEnterLeave, ""};
  } else {
    static_assert(!Semantics<F>::kRecordedFields.empty(), "the recorded fields, in words");
    constexpr bool kNamesObject = requires { Semantics<F>::kNamesObject; };
    return {kNamesObject ? Depth::kObject : Depth::kFullSemantics, Semantics<F>::kRecordedFields};
  }
}
constexpr DepthRow kDepths[] = {
    {Depth::kEnterLeave, ""},
#define MEGASCOPE_MPI(name, kind, parameters, arguments) \
  MEGASCOPE_WHERE_DECLARED(name, depth_row<Fn::name>(), )
#include "mpi_layer/table/all.inc"
#undef MEGASCOPE_MPI
};

}  // namespace

std::vector<WrappedFunction> wrapped_functions() {
  std::vector<WrappedFunction> functions;
  for (unsigned i = 1; i < kFnEnd; ++i) {
    const Fn fn = static_cast<Fn>(i);
    const std::string name = mpi_name(fn);
    functions.push_back({name, group_name(group_of(fn)), kDepths[i].depth,
                         std::string(kDepths[i].recorded_fields), is_recorded_by_default(fn)});
  }
  std::sort(functions.begin(), functions.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return functions;
}

}  // namespace megascope::mpi
