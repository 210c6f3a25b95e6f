#include "core/record/mpi_function.h"
#include "mpi_layer/table/regions.h"
#include "mpi_layer/table/selection.h"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

/// What the table says of each function: role, collective operation, and when it is tracked
/// although it is not recorded.
namespace megascope::mpi {
namespace {

enum class Tracked : std::uint8_t {
  kNever,
  kWhileOff,  ///< while recording is off
  kAlways,    ///< while recording is off, and if MEGASCOPE_MPI omits it
};

struct Kinds {
  RegionRole role;
  CollectiveOp op;
  Tracked tracked;
  const char* functions;  ///< of MPI-3.1 and those that it removed, without MPI_
};

constexpr Kinds kExpected[] = {
    {RegionRole::kFunction, CollectiveOp::kNone, Tracked::kNever,
     "Abort Add_error_class Add_error_code Add_error_string Address Alloc_mem Attr_delete "
     "Attr_get Attr_put Comm_c2f Comm_call_errhandler Comm_create_errhandler "
     "Comm_create_keyval Comm_delete_attr Comm_f2c Comm_free_keyval Comm_get_attr "
     "Comm_get_errhandler Comm_set_attr Comm_set_errhandler Errhandler_c2f "
     "Errhandler_create Errhandler_f2c Errhandler_free Errhandler_get Errhandler_set "
     "Error_class Error_string File_c2f File_f2c Finalize Finalized Free_mem Get_address "
     "Get_count Get_elements Get_elements_x Get_library_version Get_processor_name "
     "Get_version Group_c2f Group_compare Group_difference Group_excl Group_f2c Group_free "
     "Group_incl Group_intersection Group_range_excl Group_range_incl Group_rank "
     "Group_size Group_translate_ranks Group_union Info_c2f Info_create Info_delete "
     "Info_dup Info_f2c Info_free Info_get Info_get_nkeys Info_get_nthkey "
     "Info_get_valuelen Info_set Init Init_thread Initialized Is_thread_main Keyval_create "
     "Keyval_free Message_c2f Message_f2c Op_c2f Op_commutative Op_create Op_f2c Op_free "
     "Pack Pack_external Pack_external_size Pack_size Pcontrol Query_thread Reduce_local "
     "Request_c2f Request_f2c Status_c2f Status_f2c Status_set_cancelled "
     "Status_set_elements Status_set_elements_x T_category_changed "
     "T_category_get_categories T_category_get_cvars T_category_get_index "
     "T_category_get_info T_category_get_num T_category_get_pvars T_cvar_get_index "
     "T_cvar_get_info T_cvar_get_num T_cvar_handle_alloc T_cvar_handle_free T_cvar_read "
     "T_cvar_write T_enum_get_info T_enum_get_item T_finalize T_init_thread "
     "T_pvar_get_index T_pvar_get_info T_pvar_get_num T_pvar_handle_alloc "
     "T_pvar_handle_free T_pvar_read T_pvar_readreset T_pvar_reset T_pvar_session_create "
     "T_pvar_session_free T_pvar_start T_pvar_stop T_pvar_write Type_c2f Type_commit "
     "Type_contiguous Type_create_darray Type_create_f90_complex Type_create_f90_integer "
     "Type_create_f90_real Type_create_hindexed Type_create_hindexed_block "
     "Type_create_hvector Type_create_indexed_block Type_create_keyval Type_create_resized "
     "Type_create_struct Type_create_subarray Type_delete_attr Type_dup Type_extent "
     "Type_f2c Type_free_keyval Type_get_attr Type_get_contents Type_get_envelope "
     "Type_get_extent Type_get_extent_x Type_get_name Type_get_true_extent "
     "Type_get_true_extent_x Type_hindexed Type_hvector Type_indexed Type_lb "
     "Type_match_size Type_set_attr Type_set_name Type_size Type_size_x Type_struct "
     "Type_ub Type_vector Unpack Unpack_external Win_c2f Win_call_errhandler "
     "Win_create_errhandler Win_create_keyval Win_delete_attr Win_f2c Win_free_keyval "
     "Win_get_attr Win_get_errhandler Win_set_attr Win_set_errhandler Wtick Wtime"},
    // Frequent queries, in groups whose other functions are tracked.
    {RegionRole::kFunction, CollectiveOp::kNone, Tracked::kNever,
     "Cart_coords Cart_get Cart_rank Cart_shift Cartdim_get Comm_compare Comm_get_name "
     "Comm_rank Comm_remote_size Comm_size Comm_test_inter Dims_create Topo_test"},
    {RegionRole::kFunction, CollectiveOp::kNone, Tracked::kAlways,
     "Cart_map Close_port Comm_create_group Comm_disconnect Comm_free Comm_get_info "
     "Comm_get_parent Comm_group Comm_join Comm_remote_group Comm_set_info Comm_set_name "
     "Dist_graph_neighbors Dist_graph_neighbors_count Graph_get Graph_map Graph_neighbors "
     "Graph_neighbors_count Graphdims_get Intercomm_create Lookup_name Open_port "
     "Publish_name Type_free Unpublish_name"},
    {RegionRole::kPointToPoint, CollectiveOp::kNone, Tracked::kNever,
     "Bsend Bsend_init Buffer_attach Buffer_detach Cancel Grequest_complete Grequest_start "
     "Ibsend Improbe Imrecv Iprobe Irecv Irsend Isend Issend Mprobe Mrecv Probe Recv "
     "Recv_init Request_free Request_get_status Rsend Rsend_init Send Send_init Sendrecv "
     "Sendrecv_replace Ssend Ssend_init Start Startall Test Test_cancelled Testall Testany "
     "Testsome Wait Waitall Waitany Waitsome"},
    {RegionRole::kCollBarrier, CollectiveOp::kBarrier, Tracked::kWhileOff, "Barrier Ibarrier"},
    {RegionRole::kCollOneToAll, CollectiveOp::kBcast, Tracked::kWhileOff, "Bcast Ibcast"},
    {RegionRole::kCollOneToAll, CollectiveOp::kScatter, Tracked::kWhileOff, "Iscatter Scatter"},
    {RegionRole::kCollOneToAll, CollectiveOp::kScatterv, Tracked::kWhileOff, "Iscatterv Scatterv"},
    {RegionRole::kCollAllToOne, CollectiveOp::kGather, Tracked::kWhileOff, "Gather Igather"},
    {RegionRole::kCollAllToOne, CollectiveOp::kGatherv, Tracked::kWhileOff, "Gatherv Igatherv"},
    {RegionRole::kCollAllToOne, CollectiveOp::kReduce, Tracked::kWhileOff, "Ireduce Reduce"},
    {RegionRole::kCollAllToAll, CollectiveOp::kAllgather, Tracked::kWhileOff,
     "Allgather Iallgather Ineighbor_allgather Neighbor_allgather"},
    {RegionRole::kCollAllToAll, CollectiveOp::kAllgatherv, Tracked::kWhileOff,
     "Allgatherv Iallgatherv Ineighbor_allgatherv Neighbor_allgatherv"},
    {RegionRole::kCollAllToAll, CollectiveOp::kAlltoall, Tracked::kWhileOff,
     "Alltoall Ialltoall Ineighbor_alltoall Neighbor_alltoall"},
    {RegionRole::kCollAllToAll, CollectiveOp::kAlltoallv, Tracked::kWhileOff,
     "Alltoallv Ialltoallv Ineighbor_alltoallv Neighbor_alltoallv"},
    {RegionRole::kCollAllToAll, CollectiveOp::kAlltoallw, Tracked::kWhileOff,
     "Alltoallw Ialltoallw Ineighbor_alltoallw Neighbor_alltoallw"},
    {RegionRole::kCollAllToAll, CollectiveOp::kAllreduce, Tracked::kWhileOff,
     "Allreduce Iallreduce"},
    {RegionRole::kCollOther, CollectiveOp::kReduceScatter, Tracked::kWhileOff,
     "Ireduce_scatter Reduce_scatter"},
    {RegionRole::kCollOther, CollectiveOp::kReduceScatterBlock, Tracked::kWhileOff,
     "Ireduce_scatter_block Reduce_scatter_block"},
    {RegionRole::kCollOther, CollectiveOp::kScan, Tracked::kWhileOff, "Iscan Scan"},
    {RegionRole::kCollOther, CollectiveOp::kExscan, Tracked::kWhileOff, "Exscan Iexscan"},
    {RegionRole::kCollOther, CollectiveOp::kCreateHandle, Tracked::kAlways,
     "Cart_create Cart_sub Comm_accept Comm_connect Comm_create Comm_dup "
     "Comm_dup_with_info Comm_idup Comm_spawn Comm_spawn_multiple Comm_split "
     "Comm_split_type Dist_graph_create Dist_graph_create_adjacent Graph_create "
     "Intercomm_merge"},
    {RegionRole::kFileIo, CollectiveOp::kNone, Tracked::kNever,
     "File_call_errhandler File_create_errhandler File_delete File_get_amode "
     "File_get_atomicity File_get_byte_offset File_get_errhandler File_get_group "
     "File_get_info File_get_position File_get_position_shared File_get_size "
     "File_get_type_extent File_get_view File_iread File_iread_at File_iread_shared "
     "File_iwrite File_iwrite_at File_iwrite_shared File_read File_read_at "
     "File_read_shared File_seek File_set_errhandler File_write File_write_at "
     "File_write_shared Register_datarep"},
    {RegionRole::kFileIo, CollectiveOp::kNone, Tracked::kWhileOff,
     "File_iread_all File_iread_at_all File_iwrite_all File_iwrite_at_all File_preallocate "
     "File_read_all File_read_all_begin File_read_all_end File_read_at_all "
     "File_read_at_all_begin File_read_at_all_end File_read_ordered "
     "File_read_ordered_begin File_read_ordered_end File_seek_shared File_set_atomicity "
     "File_set_info File_set_size File_set_view File_sync File_write_all "
     "File_write_all_begin File_write_all_end File_write_at_all File_write_at_all_begin "
     "File_write_at_all_end File_write_ordered File_write_ordered_begin "
     "File_write_ordered_end"},
    {RegionRole::kFileIo, CollectiveOp::kNone, Tracked::kAlways, "File_close File_open"},
    {RegionRole::kRma, CollectiveOp::kNone, Tracked::kNever,
     "Accumulate Compare_and_swap Fetch_and_op Get Get_accumulate Put Raccumulate Rget "
     "Rget_accumulate Rput Win_attach Win_complete Win_detach Win_flush Win_flush_all "
     "Win_flush_local Win_flush_local_all Win_get_group Win_get_info Win_get_name Win_lock "
     "Win_lock_all Win_post Win_set_info Win_set_name Win_shared_query Win_start Win_sync "
     "Win_test Win_unlock Win_unlock_all Win_wait"},
    {RegionRole::kRma, CollectiveOp::kNone, Tracked::kWhileOff, "Win_fence"},
    {RegionRole::kRma, CollectiveOp::kNone, Tracked::kAlways,
     "Win_allocate Win_allocate_shared Win_create Win_create_dynamic Win_free"},
};

Tracked tracked(Fn fn) {
  if (is_always_tracked(fn)) return Tracked::kAlways;
  return tracks_handles(fn) ? Tracked::kWhileOff : Tracked::kNever;
}

/// By the name of the function. A function that is in two rows fails.
std::map<std::string, Kinds> expected_kinds() {
  std::map<std::string, Kinds> expected;
  for (const Kinds& row : kExpected) {
    std::istringstream functions(row.functions);
    std::string function;
    while (functions >> function)
      EXPECT_TRUE(expected.emplace("MPI_" + function, row).second) << function;
  }
  return expected;
}

TEST(FunctionKinds, AreWhatTheTableSays) {
  const std::map<std::string, Kinds> expected = expected_kinds();
  for (const RegionDefinition& region : all_regions()) {
    const auto found = expected.find(region.name);
    ASSERT_NE(found, expected.end()) << region.name;
    EXPECT_EQ(region.role, found->second.role) << region.name;
    EXPECT_EQ(region.collective_op, found->second.op) << region.name;
    EXPECT_EQ(tracked(static_cast<Fn>(region.id)), found->second.tracked) << region.name;
  }
}

TEST(FunctionKinds, AlwaysTrackedFunctionsAreInterceptedIfOmitted) {
  const std::map<std::string, Kinds> expected = expected_kinds();
  select_functions({"none"});
  for (unsigned i = 1; i < kFnEnd; ++i) {
    if ((g_selected[i] & kRecords) != 0) continue;
    const Fn fn = static_cast<Fn>(i);
    EXPECT_EQ(g_selected[i] == kTracking, expected.at(mpi_name(fn)).tracked == Tracked::kAlways)
        << mpi_name(fn);
  }
  select_functions({"default"});
}

/// What readers know by name (core/record/mpi_function.h) agrees with the table.
TEST(FunctionKinds, AreWhatReadersKnowByName) {
  std::map<std::string, std::string> known;
  for (unsigned i = 1; i < kFnEnd; ++i) {
    const std::string name = mpi_name(static_cast<Fn>(i));
    const Group group = group_of(static_cast<Fn>(i));
    const MpiFunction function = mpi_function(name);
    if (group != Group::kIo && group != Group::kRma) {
      const bool is_of_messages = group == Group::kP2p || group == Group::kColl;
      EXPECT_EQ(function.is_nonblocking,
                name == "MPI_Comm_idup" || (is_of_messages && name.starts_with("MPI_I")))
          << name;
    }
    if (function.use == MpiFunction::Use::kWait) known["waits"] += name.substr(4) + " ";
    if (function.use == MpiFunction::Use::kPoll) known["polls"] += name.substr(4) + " ";
    if (function.is_buffered) known["buffered"] += name.substr(4) + " ";
    if (function.is_synchronous) known["synchronous"] += name.substr(4) + " ";
    if (function.starts_mpi || function.ends_mpi) known["starts and ends"] += name.substr(4) + " ";
    if (function.connects_worlds) known["meets"] += name.substr(4) + " ";
    EXPECT_EQ(function.is_neighbourhood, name.find("eighbor_") != std::string::npos) << name;
  }
  for (auto& [property, names] : known) {
    std::istringstream words(names);
    const std::set<std::string> sorted{std::istream_iterator<std::string>(words), {}};
    names.clear();
    for (const std::string& name : sorted) names += (names.empty() ? "" : " ") + name;
  }
  const std::map<std::string, std::string> expected = {
      {"waits", "Wait Waitall Waitany Waitsome"},
      {"polls", "Improbe Iprobe Request_get_status Test Testall Testany Testsome"},
      {"buffered", "Bsend Bsend_init Ibsend"},
      {"synchronous", "Issend Ssend Ssend_init"},
      {"starts and ends", "Finalize Init Init_thread"},
      {"meets", "Comm_accept Comm_connect Comm_join Comm_spawn Comm_spawn_multiple"}};
  EXPECT_EQ(known, expected);
  // MPI 4 has more ways to begin and end than the table.
  EXPECT_TRUE(mpi_function("MPI_Session_init").starts_mpi);
  EXPECT_TRUE(mpi_function("MPI_Session_finalize").ends_mpi);
}

}  // namespace
}  // namespace megascope::mpi
