"""What the modules `ibmmqc` and `pymqe` share: connecting, shared handles, values of properties."""
