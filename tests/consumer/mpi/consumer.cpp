// Ranks as processes: what the threads of a group do in Whilst's own tests, over MPI.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <whilst/csr_matrix.hpp>
#include <whilst/error.hpp>
#include <whilst/gallery.hpp>
#include <whilst/group.hpp>
#include <whilst/mpi.hpp>

namespace {

int failures = 0;

void check(bool is_so, const std::string& what) {
  if (is_so) return;
  ++failures;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
}

template <class Work>
std::string message_of(const Work& work) {
  try {
    work();
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <class T>
void check_product(const whilst::group& ranks, const std::string& problem) {
  const whilst::csr_matrix<T> A = whilst::make_gallery<T>(problem).matrix;
  std::vector<T> x, serial;
  for (whilst::index_type i = 0; i < A.rows(); ++i) x.push_back(T(1) / static_cast<T>(i + 3));
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    T sum = 0;
    for (auto k = static_cast<std::size_t>(A.row_offset(i)); k < static_cast<std::size_t>(A.row_offset(i + 1)); ++k)
      sum += A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
    serial.push_back(sum);
  }
  const auto split = whilst::distributed_csr_matrix<T>::from_rank_0(ranks, ranks.rank() == 0 ? &A : nullptr);
  const auto first = static_cast<std::size_t>(split.partition().first(ranks.rank()));
  const auto rows = static_cast<std::size_t>(split.partition().rows_of(ranks.rank()));
  const std::vector<T> y = split.multiply(std::span<const T>(x).subspan(first, rows));
  check(ranks.template all_gather<T>("the product", y).all == serial, "the product with " + problem);
}

void run(const whilst::group& ranks) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(ranks.rank() == rank && ranks.size() == size, "rank and size");

  check_product<double>(ranks, "poisson3d:5");
  check_product<float>(ranks, "powerlaw:200");

  // Pieces of different lengths, none from rank 0.
  const auto all = ranks.all_gather<int>("ranks", std::vector<int>(static_cast<std::size_t>(rank), rank));
  for (int q = 0; q < size; ++q)
    check(std::ranges::equal(all.of(q), std::vector<int>(static_cast<std::size_t>(q), q)), "what all gave");

  const int last = size - 1;
  const std::string failed = message_of([&] {
    ranks.agree("working", [&] {
      if (rank == last) throw std::runtime_error("on purpose");
    });
  });
  check(failed == (rank == last ? "on purpose" : "working: rank " + std::to_string(last) + " failed: on purpose"),
        failed);
  ranks.barrier();
}

/// A solve by processes, whose words travel through shared memory, against the same one by threads: to the bit. Of
/// three ranks the middle one has twice the ghosts of the others, and more than a page of words.
void check_solve(const whilst::group& ranks) {
  const whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson3d:20").matrix;
  whilst::linear_solver_options options{.method = "cg", .preconditioner = "jacobi"};
  options.executor = "host";
  const auto solved_by = [&](const whilst::group& own, std::string* transport) {
    const auto split = whilst::distributed_csr_matrix<double>::from_rank_0(own, own.rank() == 0 ? &A : nullptr);
    whilst::distributed_linear_solver<double> solver(split, options);
    const auto rows = static_cast<std::size_t>(split.partition().rows_of(own.rank()));
    std::vector<double> b(rows, 1.0), x(rows);
    for (int k = 0; k < 2; ++k) {
      std::fill(x.begin(), x.end(), 0.0);
      if (solver.solve(b, x).reason() != whilst::reason::converged_rtol) throw std::runtime_error("no convergence");
    }
    if (transport) *transport = solver.transport();
    return own.all_gather<double>("the solution", x).all;
  };
  std::string transport;
  const std::vector<double> by_processes = solved_by(ranks, &transport);
  check(transport == (ranks.size() > 1 ? "shared memory" : "one rank"), "the transport is " + transport);
  if (ranks.rank() == 0) {
    std::vector<double> by_threads;
    std::vector<std::thread> threads;
    for (whilst::group& one : whilst::make_thread_groups(ranks.size()))
      threads.emplace_back([&, own = std::move(one)] {
        const std::vector<double> found = solved_by(own, nullptr);
        if (own.rank() == 0) by_threads = found;
      });
    for (std::thread& one : threads) one.join();
    check(by_threads == by_processes, "the solution by processes");
  }
}

/// The program that docs/several-gpus.md shows: -u'' = 1 on a line, by hand u[i] = (i + 1) (n - i) / 2.
void solve_line(const std::string& executor, int gpu) {
  const whilst::group ranks = whilst::mpi_group(MPI_COMM_WORLD);
  const long long n = 1000, first = n * ranks.rank() / ranks.size(), end = n * (ranks.rank() + 1) / ranks.size();
  std::vector<long long> offsets{0}, columns;  // of this rank's rows; columns have global numbers
  std::vector<double> values;
  for (long long i = first; i < end; ++i) {
    for (long long j = std::max(i - 1, 0LL); j <= std::min(i + 1, n - 1); ++j) {
      columns.push_back(j);
      values.push_back(i == j ? 2 : -1);
    }
    offsets.push_back(static_cast<long long>(columns.size()));
  }
  const whilst::distributed_csr_matrix<double> A(ranks, first, offsets, columns, values);
  whilst::linear_solver_options options{.method = "cg", .preconditioner = "jacobi"};
  options.executor = executor;
  options.device = gpu;
  whilst::distributed_linear_solver<double> solver(A, options);
  std::vector<double> b(static_cast<std::size_t>(end - first), 1.0), x(b.size());  // this rank's entries
  const whilst::report report = solver.solve(b, x);
  if (ranks.rank() == 0) std::printf("%s\n", report.message().c_str());

  check(report.converged(), report.message());
  // At most the residual, 1e-8 sqrt(n), over the least eigenvalue, pi^2 / (n + 1)^2 to four digits.
  const double bound = 1e-8 * std::sqrt(n) * (n + 1) * (n + 1) / 9.869;
  for (long long i = first; i < end; ++i)
    check(std::abs(x[static_cast<std::size_t>(i - first)] - (i + 1) * (n - i) / 2.0) <= bound,
          "the solution on a line");
}

/// A system that rank 0 has whole, its rows divided by their graph.
void solve_in_parts(const whilst::group& ranks) {
  const whilst::csr_matrix<double> A = whilst::make_gallery<double>("poisson2d:15").matrix;
  const std::vector<double> b(225, 1.0);
  whilst::linear_solver_options options{.method = "cg", .preconditioner = "jacobi"};
  options.executor = "host";

  const bool has_system = ranks.rank() == 0;
  std::vector<int> rank_of_row;
  if (has_system) rank_of_row = whilst::parts_by_rcm(A, ranks.size());
  const auto piece = whilst::distributed_csr_matrix<double>::from_rank_0(ranks, has_system ? &A : nullptr, rank_of_row);
  whilst::distributed_linear_solver<double> solver(piece, options);
  const std::vector<double> own_b = piece.split().scatter(has_system ? b : std::vector<double>());
  std::vector<double> own_x(own_b.size());
  solver.solve(own_b, own_x);
  const std::vector<double> x = piece.split().gather(own_x);  // whole, on every rank, in the order of A

  double worst = 0;
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    double residual = b[static_cast<std::size_t>(i)];
    for (auto k = static_cast<std::size_t>(A.row_offset(i)); k < static_cast<std::size_t>(A.row_offset(i + 1)); ++k)
      residual -= A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
    worst = std::max(worst, std::abs(residual));
  }
  check(worst <= 1.01e-8 * 15, "the solution in parts");  // rtol |b|, and rounding
}

void differ(const whilst::group& ranks) {
  if (ranks.size() == 1) return;
  const std::string differing = message_of([&] { ranks.barrier(ranks.rank() == 0 ? "here" : "there"); });
  check(has(differing, "rank 0 called \"here\"") && has(differing, "rank 1 \"there\""), differing);
  check(has(message_of([&] { ranks.barrier(); }), "the group is broken"), "a broken group");
}

void give_up(const whilst::group& ranks) {
  if (ranks.size() == 1) return;
  if (ranks.rank() == 1)
    ranks.fail("out of paper");
  else
    check(has(message_of([&] { ranks.barrier("printing"); }), "printing: rank 1 failed: out of paper"), "who gave up");
}

}  // namespace

int main(int argc, char** argv) {
  check(has(message_of([] { (void)whilst::mpi_group(MPI_COMM_WORLD); }), "Call MPI_Init before"), "before MPI_Init");
  MPI_Init(&argc, &argv);
  run(whilst::mpi_group(MPI_COMM_WORLD));
  check_solve(whilst::mpi_group(MPI_COMM_WORLD));
  solve_line("host", -1);
  solve_in_parts(whilst::mpi_group(MPI_COMM_WORLD));
  differ(whilst::mpi_group(MPI_COMM_WORLD));
  give_up(whilst::mpi_group(MPI_COMM_WORLD));
  int all_failures = 0;
  MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_failures == 0 ? 0 : 1;
}
