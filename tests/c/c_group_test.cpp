// Several ranks through the C interface: threads of this process, on the host.

#include <array>
#include <cstring>
#include <limits>

#include "tests/c/c_handles.hpp"
#include "tests/c/c_ranks.hpp"

namespace whilst_test {
namespace {

using c_distributed = owned_handle<whilst_distributed_matrix, whilst_distributed_matrix_destroy>;

/// The rows of -1, 2, -1 that a rank has: uneven, and none on rank 1 of several.
template <class T>
struct rows_of_line {
  rows_of_line(int n, int rank, int ranks, int base) {
    const auto first_of = [=](int q) { return q == 2 && ranks > 2 ? n / ranks : q * n / ranks; };
    first = first_of(rank);
    const int end = first_of(rank + 1);
    offsets.push_back(base);
    for (int i = first; i < end; ++i) {
      for (const int j : {i - 1, i, i + 1}) {
        if (j < 0 || j == n) continue;
        columns.push_back(j + base);
        values.push_back(i == j ? T(2) : T(-1));
      }
      offsets.push_back(base + static_cast<std::int64_t>(values.size()));
    }
  }
  std::int64_t rows() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::int64_t nonzeros() const { return static_cast<std::int64_t>(values.size()); }
  int first = 0;
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns;
  std::vector<T> values;
};

template <class T>
std::string solve_line(int n, int rank, int ranks, int base, const whilst_group* group, std::vector<T>& whole) {
  const rows_of_line<T> own(n, rank, ranks, base);
  c_distributed A;
  c_solver solver;
  c_report report;
  const std::string usual = "executor=host,preconditioner=jacobi";
  if (const auto said = error_of(whilst_distributed_matrix_create(group, number_of<T>(), own.first + base, own.rows(),
                                                                  own.nonzeros(), own.offsets.data(), 64,
                                                                  own.columns.data(), 32, base, own.values.data(), &A));
      !said.empty())
    return said;
  if (const auto said = error_of(
          whilst_distributed_solver_create(A, (usual + (base ? ",transport=shared memory" : "")).c_str(), 10, &solver));
      !said.empty())
    return said;
  whilst_solver_set_tolerances(solver, 1e3 * std::numeric_limits<T>::epsilon(), 0);
  std::vector<T> b(static_cast<std::size_t>(own.rows()), T(1)), x(b.size());
  if (const auto said = error_of(whilst_solve(solver, b.data(), own.rows(), x.data(), own.rows(), &report));
      !said.empty())
    return said;
  if (whilst_report_converged(report) != 1) return whilst_report_text(report, WHILST_MESSAGE);
  std::copy(x.begin(), x.end(), whole.begin() + own.first);
  int lost = 0;
  if (const auto said = error_of(whilst_solver_lost_rank(solver, &lost)); !said.empty() || lost != -1) return "lost";
  const std::string transport = whilst_solver_text(solver, WHILST_SOLVER_TRANSPORT);
  return transport == (ranks == 1 ? "one rank" : base ? "shared memory" : "threads") ? "" : transport;
}

template <class T>
void check_solves(int ranks, int base) {
  CAPTURE(sizeof(T), ranks, base);
  std::vector<T> x(60);
  const auto said = on_ranks(
      ranks, [&](int rank, const whilst_group* group) { return solve_line<T>(60, rank, ranks, base, group, x); });
  for (const std::string& one : said) CHECK(one == "");
  check_parabola(x, 1e3 * std::numeric_limits<T>::epsilon());
}

}  // namespace

TEST_CASE("C: ranks that have rows of one matrix solve together", "[c][group]") {
  for (const int ranks : {1, 2, 3, 5})
    for (const int base : {0, 1}) {
      check_solves<float>(ranks, base);
      check_solves<double>(ranks, base);
    }
}

TEST_CASE("C: a matrix of rank 0 is split; sizes add up; new values are taken", "[c][group]") {
  constexpr int n = 40, ranks = 3;
  std::array<std::array<std::int64_t, 5>, ranks> sizes{};
  std::vector<double> x(n);
  const c_matrix whole = c_line<double>(n).copied();
  const auto said = on_ranks(ranks, [&](int rank, const whilst_group* group) -> std::string {
    c_distributed A;
    c_solver solver;
    const whilst_matrix* mine = rank == 0 ? static_cast<whilst_matrix*>(whole) : nullptr;
    if (const auto error = error_of(whilst_distributed_matrix_split(group, WHILST_DOUBLE, mine, &A)); !error.empty())
      return error;
    auto& [all, first, rows, nonzeros, ghosts] = sizes[static_cast<std::size_t>(rank)];
    whilst_distributed_matrix_size(A, &all, &first, &rows, &nonzeros, &ghosts);
    if (const auto error = error_of(whilst_distributed_solver_create(A, "executor=host,rtol=1e-12", 10, &solver));
        !error.empty())
      return error;
    // The matrix times 4: the solution is a quarter.
    std::vector<double> values;
    for (std::int64_t i = first; i < first + rows; ++i)
      for (std::int64_t j = i - 1; j <= i + 1; ++j)
        if (j >= 0 && j < n) values.push_back(i == j ? 8 : -4);
    if (const auto error = error_of(whilst_solver_update_values(solver, values.data(), nonzeros)); !error.empty())
      return error;
    std::vector<double> b(static_cast<std::size_t>(rows), 1), own(b.size());
    if (const auto error = error_of(whilst_solve(solver, b.data(), rows, own.data(), rows, nullptr)); !error.empty())
      return error;
    std::copy(own.begin(), own.end(), x.begin() + first);
    const std::int64_t wrong = rank == 1 ? 1 : nonzeros;  // one rank's mistake is everybody's
    const std::string refused = error_of(whilst_solver_update_values(solver, values.data(), wrong));
    return refused.find("there are 1 values for") == std::string::npos ? "not refused: " + refused : "";
  });
  for (const std::string& one : said) CHECK(one == "");
  std::int64_t next = 0, nonzeros = 0;
  for (const auto& [all, first, rows, entries, ghosts] : sizes) {
    CHECK(all == n);
    CHECK(first == next);
    CHECK(ghosts == (first == 0 || first + rows == n ? 1 : 2));  // of a line, one on each side
    next += rows;
    nonzeros += entries;
  }
  CHECK(next == n);
  CHECK(nonzeros == 3 * n - 2);
  check_parabola(x, 1e-12, 0.25);
}

TEST_CASE("C: enqueued solves of several ranks", "[c][group]") {
  constexpr int n = 30, ranks = 2;
  std::vector<double> x(n);
  const c_matrix whole = c_line<double>(n).copied();
  const auto said = on_ranks(ranks, [&](int rank, const whilst_group* group) -> std::string {
    c_distributed A;
    c_solver solver;
    c_ticket ticket;
    c_report report;
    const whilst_matrix* mine = rank == 0 ? static_cast<whilst_matrix*>(whole) : nullptr;
    if (const auto error = error_of(whilst_distributed_matrix_split(group, WHILST_DOUBLE, mine, &A)); !error.empty())
      return error;
    std::int64_t first = 0, rows = 0;
    whilst_distributed_matrix_size(A, nullptr, &first, &rows, nullptr, nullptr);
    if (const auto error = error_of(whilst_distributed_solver_create(A, "executor=host,rtol=1e-12", 10, &solver));
        !error.empty())
      return error;
    const std::vector<double> b(static_cast<std::size_t>(rows), 1);
    if (const auto error = error_of(whilst_enqueue(solver, nullptr, b.data(), x.data() + first, &ticket));
        !error.empty())
      return error;
    if (const auto error = error_of(whilst_ticket_wait(ticket, &report)); !error.empty()) return error;
    return whilst_report_converged(report) ? "" : "no convergence";
  });
  for (const std::string& one : said) CHECK(one == "");
  check_parabola(x, 1e-12);
}

TEST_CASE("C: groups and what they refuse", "[c][group]") {
  CHECK(error_of(whilst_group_create_threads(0, nullptr)) != "");
  std::array<whilst_group*, 1> none{};
  check_refused(whilst_group_create_threads(0, none.data()), "size");
  check_refused(whilst_group_size(nullptr, nullptr, nullptr), "group is NULL");

  // One rank alone, by a callback.
  int released = 0, calls = 0;
  struct counted {
    int &released, &calls;
  } both{released, calls};
  const auto gather = [](void* user, const void* mine, const int64_t* sizes, int, void* all) {
    ++static_cast<counted*>(user)->calls;
    if (sizes[0] > 0) std::memcpy(all, mine, static_cast<std::size_t>(sizes[0]));
    return 0;
  };
  const auto release = [](void* user) { ++static_cast<counted*>(user)->released; };
  {
    c_group group;
    require_ok(whilst_group_create(0, 1, gather, &both, release, &group));
    int rank = -1, size = -1;
    require_ok(whilst_group_size(group, &rank, &size));
    CHECK((rank == 0 && size == 1));
    require_ok(whilst_group_barrier(group));
    CHECK(calls > 0);
    CHECK(released == 0);
  }
  CHECK(released == 1);
  c_group group;
  check_refused(whilst_group_create(2, 2, gather, &both, release, &group), "there is no rank 2");
  CHECK(released == 2);
  check_refused(whilst_group_create(0, 1, nullptr, &both, release, &group), "gather is NULL");
  CHECK(released == 3);

  const auto fails = [](void*, const void*, const int64_t*, int, void*) { return 7; };
  require_ok(whilst_group_create(0, 2, fails, nullptr, nullptr, &group));
  check_refused(whilst_group_barrier(group), "the callback gather returned 7", WHILST_CALLBACK_FAILED);
  check_refused(whilst_group_barrier(group), "the group is broken");
}

TEST_CASE("C: a rank that gives up, and one that gives wrong rows, are named on all", "[c][group]") {
  auto said = on_ranks(2, [&](int rank, const whilst_group* group) {
    return error_of(rank == 1 ? whilst_group_fail(group, "out of paper") : whilst_group_barrier(group));
  });
  CHECK(said[1] == "");
  CHECK_THAT(said[0], contains("rank 1 failed: out of paper"));

  said = on_ranks(2, [&](int rank, const whilst_group* group) {
    const rows_of_line<double> own(10, rank, 2, 0);
    c_distributed A;
    return error_of(whilst_distributed_matrix_create(group, WHILST_DOUBLE, own.first, own.rows(), own.nonzeros(),
                                                     own.offsets.data(), rank == 1 ? 16 : 64, own.columns.data(), 32, 0,
                                                     own.values.data(), &A));
  });
  CHECK_THAT(said[1], contains("row_offsets have 16 bits"));
  CHECK_THAT(said[0], contains("rank 1 failed: row_offsets have 16 bits"));

  const c_solver alone = c_linear(c_line<double>(4).copied(), "executor=host");
  int lost = 0;
  check_refused(whilst_solver_lost_rank(alone, &lost), "not for several ranks");
  check_refused(whilst_solver_recover(alone), "not for several ranks");
  CHECK(whilst_solver_text(alone, WHILST_SOLVER_TRANSPORT) == nullptr);
}

}  // namespace whilst_test
