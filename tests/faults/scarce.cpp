// Calls of every family of MPI functions and every hook, in each of which one allocation of the
// library fails: the first, the second ...
//   scarce PART MODE DIRECTORY [NUMBER]
// PART: a name below, or start (MPI_Init), end (MPI_Finalize). MODE: one (one allocation fails),
// all (it and all later ones). DIRECTORY: for files. NUMBER: only this allocation; 0, or none: each
// of the part in turn. `scarce list` prints the names. Prints how many failed allocations the part
// came through, or with NUMBER how many allocations there were.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <megascope/megascope.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using Arm = void (*)(long, int);
using Disarm = long (*)();
Arm g_arm = nullptr;
Disarm g_disarm = nullptr;

int g_value = 1;
int g_other = 0;
std::string g_directory;

void p2p() {
  MPI_Request requests[4];
  MPI_Sendrecv(&g_value, 1, MPI_INT, 0, 1, &g_other, 1, MPI_INT, 0, 1, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  MPI_Irecv(&g_other, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &requests[0]);
  MPI_Isend(&g_value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Send_init(&g_value, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[0]);
  MPI_Recv_init(&g_other, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[1]);
  MPI_Startall(2, requests);
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  int flag = 0;
  MPI_Iprobe(0, 99, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  MPI_Isend(&g_value, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]);
  MPI_Message message;
  MPI_Mprobe(0, 3, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&g_other, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Send(&g_value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_SELF);
}

void request() {
  std::vector<MPI_Request> requests(600, MPI_REQUEST_NULL);
  for (std::size_t i = 0; i < 300; ++i)
    MPI_Irecv(&g_other, 1, MPI_INT, 0, static_cast<int>(i), MPI_COMM_SELF, &requests[i]);
  for (std::size_t i = 0; i < 300; ++i)
    MPI_Isend(&g_value, 1, MPI_INT, 0, static_cast<int>(i), MPI_COMM_SELF, &requests[300 + i]);
  int flag = 0;
  int index = 0;
  int count = 0;
  std::vector<int> indices(600);
  MPI_Testany(600, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
  MPI_Testsome(600, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
  MPI_Testall(600, requests.data(), &flag, MPI_STATUSES_IGNORE);
  MPI_Waitall(600, requests.data(), MPI_STATUSES_IGNORE);
  MPI_Irecv(&g_other, 1, MPI_INT, 0, 5, MPI_COMM_SELF, requests.data());
  MPI_Cancel(requests.data());
  MPI_Wait(requests.data(), MPI_STATUS_IGNORE);
}

void coll() {
  int counts[] = {1};
  int displacements[] = {0};
  MPI_Request requests[3];
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&g_value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&g_value, &g_other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allgatherv(&g_value, 1, MPI_INT, &g_other, counts, displacements, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallv(&g_value, counts, displacements, MPI_INT, &g_other, counts, displacements, MPI_INT,
                MPI_COMM_WORLD);
  MPI_Reduce_scatter(&g_value, &g_other, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
  MPI_Iallreduce(&g_value, &g_other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
  MPI_Igatherv(&g_value, 1, MPI_INT, &g_other, counts, displacements, MPI_INT, 0, MPI_COMM_WORLD,
               &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_Scan(&g_value, &g_other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

void comm() {
  MPI_Comm dup;
  MPI_Comm split;
  MPI_Comm typed;
  MPI_Comm idup;
  MPI_Comm created;
  MPI_Comm grouped;
  MPI_Group group;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_name(dup, "a name that is long enough not to fit into a short string");
  MPI_Comm_split(dup, 0, 0, &split);
  MPI_Comm_split_type(dup, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &typed);
  MPI_Comm_idup(dup, &idup, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_group(dup, &group);
  MPI_Comm_create(dup, group, &created);
  MPI_Comm_create_group(dup, group, 7, &grouped);
  MPI_Group_free(&group);
  MPI_Comm unseen;
  PMPI_Comm_dup(MPI_COMM_WORLD, &unseen); /* out of the library's sight */
  MPI_Barrier(unseen);
  MPI_Comm_free(&unseen);
  int result = 0;
  MPI_Comm_compare(dup, split, &result);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  for (MPI_Comm* each : {&split, &typed, &idup, &created, &grouped, &dup}) MPI_Comm_free(each);
}

void topo() {
  MPI_Comm cart;
  MPI_Comm sub;
  MPI_Comm graph;
  MPI_Comm neighbours;
  const int dimensions[] = {1};
  const int periods[] = {1};
  const int remains[] = {1};
  const int index[] = {1};
  const int edges[] = {0};
  const int weight[] = {1};
  MPI_Cart_create(MPI_COMM_WORLD, 1, dimensions, periods, 0, &cart);
  int coordinates[1];
  MPI_Cart_coords(cart, 0, 1, coordinates);
  MPI_Cart_sub(cart, remains, &sub);
  MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &graph);
  const int self[] = {0};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, self, weight, 1, self, weight, MPI_INFO_NULL, 0,
                                 &neighbours);
  int in[2] = {0, 0};
  int out[2] = {0, 0};
  MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, cart);
  MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, neighbours);
  MPI_Request request;
  MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, neighbours, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (MPI_Comm* each : {&sub, &cart, &graph, &neighbours}) MPI_Comm_free(each);
}

void ignore_error(MPI_Comm*, int*, ...) {}

/// Groups, types, operators, info, attributes, error handlers, environment, time.
void local() {
  MPI_Group world;
  MPI_Group one;
  const int ranks[] = {0};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, ranks, &one);
  MPI_Group_free(&one);
  MPI_Group_free(&world);
  MPI_Datatype vector;
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_set_name(vector, "a name that is long enough not to fit into a short string");
  MPI_Type_commit(&vector);
  int in[4] = {0};
  int out[4] = {0};
  MPI_Sendrecv(in, 1, vector, 0, 1, out, 1, vector, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  char buffer[64];
  int position = 0;
  MPI_Pack(in, 1, vector, buffer, sizeof buffer, &position, MPI_COMM_SELF);
  MPI_Type_free(&vector);
  MPI_Op op;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &op);
  MPI_Op_free(&op);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_free(&info);
  int keyval = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &g_value);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(&ignore_error, &handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Send(&g_value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD); /* an error */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  (void)MPI_Wtime();
  (void)MPI_Comm_c2f(MPI_COMM_WORLD);
  int count = 0;
  MPI_T_cvar_get_num(&count);
  MPI_Pcontrol(0);
  MPI_Pcontrol(1);
  MPI_Pcontrol(2);
}

void io() {
  const std::string path = g_directory + "/a file whose name does not fit into a short string";
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                &file);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_write_at(file, 0, &g_value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Request request;
  MPI_File_iread_at(file, 0, &g_other, 1, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_write_all_begin(file, &g_value, 1, MPI_INT);
  MPI_File_write_all_end(file, &g_value, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_File_close(&file);
  PMPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDWR, MPI_INFO_NULL,
                 &file); /* out of the library's sight */
  MPI_File_read_at(file, 0, &g_other, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_File_delete(path.c_str(), MPI_INFO_NULL);
}

void rma() {
  MPI_Win window;
  int* base = nullptr;
  MPI_Win_allocate(sizeof(int) * 4, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   static_cast<void*>(&base), &window);
  MPI_Win_set_name(window, "a name that is long enough not to fit into a short string");
  MPI_Win_fence(0, window);
  MPI_Put(&g_value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
  MPI_Get(&g_other, 1, MPI_INT, 0, 1, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
  MPI_Accumulate(&g_value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_unlock(0, window);
  MPI_Group group;
  MPI_Win_get_group(window, &group);
  MPI_Win_post(group, 0, window);
  MPI_Win_start(group, 0, window);
  MPI_Win_complete(window);
  MPI_Win_wait(window);
  MPI_Group_free(&group);
  MPI_Win_free(&window);
  PMPI_Win_allocate(sizeof(int) * 4, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                    static_cast<void*>(&base), &window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

/// Several chunks of records.
void flood() {
  int rank = 0;
  for (int i = 0; i < 60'000; ++i) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 60'000; ++i)
    megascope_region_enter(1 + i % 3), megascope_region_leave(1 + i % 3);
}

long g_step = 0;
int g_names = 0;

void show(const char* name, int dimensions) {
  static const float values[64] = {1, 2, 3};
  megascope_tensor_view view;
  std::memset(&view, 0, sizeof view);
  view.size_bytes = sizeof view;
  view.name = name;
  view.kind = MEGASCOPE_WEIGHT;
  view.dtype = MEGASCOPE_FLOAT32;
  view.layer = MEGASCOPE_NOWHERE;
  view.micro_batch = MEGASCOPE_NOWHERE;
  view.data = values;
  view.dimensions = dimensions;
  view.shape[0] = 8;
  view.shape[1] = 8;
  megascope_tensor(&view);
}

void hooks() {
  const std::string name = "a name that is long enough not to fit into a short string " +
                           std::to_string(++g_names);
  const megascope_region region = megascope_region_define(name.c_str());
  const megascope_counter counter = megascope_counter_define(
      name.c_str(), "a unit that does not fit into a short string");
  const megascope_where where = {1, MEGASCOPE_NOWHERE, 2};
  for (int i = 0; i < 3; ++i) {
    megascope_step_begin(g_step++);
    megascope_region_enter_at(region, &where);
    megascope_counter_set(counter, static_cast<double>(g_step));
    megascope_mark(region);
    show(name.c_str(), 2);
    show("a tensor that is shown at each step of the program", 1);
    (void)megascope_wants_tensor(name.c_str());
    megascope_region_leave(region);
    megascope_region_leave(region);
    megascope_step_end();
  }
  (void)megascope_group_set("a-dimension-whose-name-is-long", 0, 1);
  (void)megascope_groups_set(
      "a-dimension-whose-name-is-long=1+tp=1+order=tp-a-dimension-whose-name-is-long");
  (void)megascope_is_recording();
  (void)megascope_save();
  (void)megascope_last_error();
  char text[64];
  (void)megascope_request_poll(text, sizeof text);
  megascope_reply("{\"id\": 1, \"text\": \"an answer that does not fit into a short string\"}");
}

struct Part {
  const char* name;
  void (*run)();
  bool is_on_new_thread;
};
void hooks_and_calls() {
  hooks();
  p2p();
}
const Part kParts[] = {{"p2p", p2p, false},
                       {"request", request, false},
                       {"coll", coll, false},
                       {"comm", comm, false},
                       {"topo", topo, false},
                       {"local", local, false},
                       {"io", io, false},
                       {"rma", rma, false},
                       {"flood", flood, false},
                       {"hooks", hooks, false},
                       {"thread", hooks_and_calls, true}};

/// The part with allocation `number` failing. Returns how many allocations there were.
long run(const Part& part, long number, bool goes_on) {
  long seen = 0;
  const auto armed = [&] {
    g_arm(number, goes_on ? 1 : 0);
    part.run();
    seen = g_disarm();
  };
  if (part.is_on_new_thread)
    std::thread(armed).join();
  else
    armed();
  return seen;
}

long run_all(const Part& part, bool goes_on) {
  constexpr long kMax = 3000;
  long number = 1;
  while (number <= kMax && run(part, number, goes_on) >= number) {
    if (number % 16 == 0) std::fprintf(stderr, "%s: %ld\n", part.name, number);
    ++number;
  }
  return number - 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    for (const Part& part : kParts) std::printf("%s\n", part.name);
    return 0;
  }
  g_arm = reinterpret_cast<Arm>(dlsym(RTLD_DEFAULT, "scarce_arm"));
  g_disarm = reinterpret_cast<Disarm>(dlsym(RTLD_DEFAULT, "scarce_disarm"));
  if (argc < 4 || g_arm == nullptr || g_disarm == nullptr) return 3;
  const std::string name = argv[1];
  const std::string mode = argv[2];
  g_directory = argv[3];
  const long number = argc > 4 ? std::atol(argv[4]) : 0;
  if (name == "start") g_arm(number, mode == "all" ? 1 : 0);
  MPI_Init(&argc, &argv);
  if (name == "start") std::printf("%ld allocations\n", g_disarm());
  long came_through = 0;
  for (const Part& part : kParts) {
    if (name != part.name) continue;
    came_through = number == 0 ? run_all(part, mode == "all") : run(part, number, mode == "all");
  }
  p2p();
  if (name == "end") g_arm(number, mode == "all" ? 1 : 0);
  MPI_Finalize();
  if (name == "end")
    std::printf("%ld allocations\n", g_disarm());
  else if (name != "start")
    std::printf("%ld allocations failed\n", came_through);
  return 0;
}
