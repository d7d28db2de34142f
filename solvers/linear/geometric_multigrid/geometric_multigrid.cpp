// compiled for each number type, by nvcc where CUDA is on
#include "solvers/linear/geometric_multigrid/geometric_multigrid.hpp"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

#include "solvers/linear/geometric_multigrid/grid_cycle.hpp"
#include "whilst/linear/preconditioners/multigrid.hpp"

namespace whilst {
namespace geometric_multigrid {
namespace {

constexpr std::string_view making_geometric = "making preconditioner multigrid";

/// What the cycle's answer is multiplied by: its operator is that of the problem over `diagonal`.
struct answer_scale {
  double diagonal, factor;
};
struct set_answer_scale {
  answer_scale* of;
  const double* operator_factor;
  WHILST_HD void operator()() const { of->factor = 1 / (of->diagonal * *operator_factor); }
};

template <class T, class C>
class multigrid_on_grid final : public matrix_preconditioner<T> {
 public:
  multigrid_on_grid(const solve_request<T>& matrix, const grid_problem& problem, const multigrid_options& options)
      : matrix_(matrix),
        levels_(matrix.where, problem, options.coarsest_rows),
        cycle_(levels_, options.cycle == "W", options.sweeps),
        scale_(matrix.where, 1) {
    put_scale(problem);
  }

  void values_changed(const csr_matrix<T>&, const T* values) override {
    buffer<T> copy;
    solve_request<T> now = matrix_;
    now.values = values;
    if (!now.where.on_host()) {  // they may be there or here
      copy = buffer<T>(now.where, now.nonzeros, values);
      now.values = copy.data();
    }
    const grid_problem problem = problem_of_matrix(now);
    levels_.set_values(problem.of);
    put_scale(problem);
  }
  void take_memory(index_type n, workspace& memory) override {
    if (n != levels_.levels()[0].size())
      throw error(making_geometric,
                  "the grid has " + std::to_string(levels_.levels()[0].size()) + " points, and the operator " +
                      std::to_string(n) + " rows",
                  "Make it from the operator that is solved with");
    cycle_.take_memory(memory);
  }
  bool made_from_operator() const override { return true; }
  void prepare_by_itself(recorder& run, const double* factor) const override {
    if (run.where() != levels_.where())
      throw error(making_geometric, "it was made for another place than that of the solver",
                  "Name the solver's place: place::host() for executor host, place::gpu(device) for stream and graph");
    run.once("the scale of M", set_answer_scale{scale_.data(), factor});
  }
  void apply(recorder& run, const T* r, T* z) const override { cycle_.record(run, r, z, &scale_.data()->factor); }

  index_type bytes() const override { return levels_.bytes() + scale_.bytes(); }
  std::string description() const override {
    const auto& levels = levels_.levels();
    std::string words = std::to_string(levels.size()) + (levels.size() == 1 ? " grid of " : " grids of ");
    for (const auto& level : levels) {
      if (&level != &levels.front()) words += ", ";
      for (int d = 0; d < 3; ++d) words += (d > 0 ? " x " : "") + std::to_string(level.points[d]);
    }
    return words + " points";
  }

 private:
  void put_scale(const grid_problem& problem) {
    const answer_scale scale{problem.diagonal(), 1 / problem.diagonal()};
    scale_.upload(&scale);
  }

  solve_request<T> matrix_;  ///< of none, if it was made for an operator
  grid_hierarchy<C> levels_;
  grid_cycle<C> cycle_;
  buffer<answer_scale> scale_;
};

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_on_grid(const solve_request<T>& matrix, const grid_problem& problem,
                                                       const multigrid_options& options) {
  if constexpr (std::is_same_v<T, double>)
    if (options.precision == "double") return std::make_unique<multigrid_on_grid<T, double>>(matrix, problem, options);
  return std::make_unique<multigrid_on_grid<T, float>>(matrix, problem, options);
}

template <class T>
std::unique_ptr<preconditioner<T>> make_for_laplacian(place where, std::initializer_list<index_type> extents,
                                                      const multigrid_options& options) {
  const auto refuse = [](const std::string& what, std::string_view cure) { throw error(making_geometric, what, cure); };
  check_multigrid_options(options, refuse);
  grid_problem problem;
  constexpr index_type most_points = std::numeric_limits<std::int32_t>::max();  // steps count in 32 bits
  index_type all_points = 1;
  int d = 0;
  for (const index_type points : extents) {
    if (points < 1 || points > index_type{1} << 30)
      refuse("the grid has " + std::to_string(points) + " points along an axis", "Give 1 to 2^30");
    if (points > most_points / all_points)
      refuse("the grid has 2^31 points or more", "Give fewer points along its axes");
    all_points *= points;
    problem.points[d] = static_cast<int>(points);
    problem.of.axis[d++] = 1;
  }
  solve_request<T> none;
  none.where = where;
  return make_on_grid<T>(none, problem, options);
}

}  // namespace
}  // namespace geometric_multigrid

template <class T>
std::unique_ptr<matrix_preconditioner<T>> make_multigrid_of_matrix(const solve_request<T>& matrix,
                                                                   const multigrid_options& options) {
  return geometric_multigrid::make_on_grid<T>(matrix, geometric_multigrid::problem_of_matrix(matrix), options);
}
template <class T>
std::unique_ptr<preconditioner<T>> make_multigrid(place where, const poisson_2d_operator<T>& A,
                                                  const multigrid_options& options) {
  return geometric_multigrid::make_for_laplacian<T>(where, {A.nx, A.ny}, options);
}
template <class T>
std::unique_ptr<preconditioner<T>> make_multigrid(place where, const poisson_3d_operator<T>& A,
                                                  const multigrid_options& options) {
  return geometric_multigrid::make_for_laplacian<T>(where, {A.nx, A.ny, A.nz}, options);
}
#define WHILST_MULTIGRID_OF(T)                                                                           \
  template std::unique_ptr<matrix_preconditioner<T>> make_multigrid_of_matrix(const solve_request<T>&,   \
                                                                              const multigrid_options&); \
  template std::unique_ptr<preconditioner<T>> make_multigrid(place, const poisson_2d_operator<T>&,       \
                                                             const multigrid_options&);                  \
  template std::unique_ptr<preconditioner<T>> make_multigrid(place, const poisson_3d_operator<T>&,       \
                                                             const multigrid_options&);
WHILST_MULTIGRID_OF(WHILST_NUMBER)
#undef WHILST_MULTIGRID_OF

}  // namespace whilst
