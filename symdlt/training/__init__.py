"""Training: the distribution of trained networks, at infinite width and to order 1/n.

`predict` gives mean and covariance of the outputs of a network trained by an `Algorithm`;
`projectors` shows what an algorithm makes of the curvature of a network.
"""

from symdlt.training._algorithms import Algorithm as Algorithm
from symdlt.training._algorithms import CustomAlgorithm as CustomAlgorithm
from symdlt.training._algorithms import GradientDescent as GradientDescent
from symdlt.training._algorithms import GradientFlow as GradientFlow
from symdlt.training._algorithms import TwoStep as TwoStep
from symdlt.training._infinite import posterior as posterior
from symdlt.training._infinite import predict_infinite as predict_infinite
from symdlt.training._infinite import predict_kernel as predict_kernel
from symdlt.training._particular import train_network as train_network
from symdlt.training._plots import plot_ntk_ellipse as plot_ntk_ellipse
from symdlt.training._predict import predict as predict
from symdlt.training._predict import trained_dntk as trained_dntk
from symdlt.training._predict import trained_ntk as trained_ntk
from symdlt.training._prediction import GaussianPrediction as GaussianPrediction
from symdlt.training._prediction import Prediction as Prediction
from symdlt.training._projectors import Projector as Projector
from symdlt.training._projectors import projectors as projectors
